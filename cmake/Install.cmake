# cmake --install, and packages made by cpack. Two components: the simulator, and the benchmarks where they were built, which need MPI or CUDA at run time.
include(GNUInstallDirs)

# The program prints its own manual page and completion: made with it, so that they are there whatever else was built.
set(DISTSIM_PRINTED ${PROJECT_BINARY_DIR}/generated/printed)
file(MAKE_DIRECTORY ${DISTSIM_PRINTED})
if(CMAKE_CROSSCOMPILING)
  message(STATUS "manual page and shell completion: left out, a program for another machine cannot print them here")
else()
  add_custom_command(TARGET distsim POST_BUILD VERBATIM
    COMMAND distsim man > ${DISTSIM_PRINTED}/distsim.1
    COMMAND distsim completion bash > ${DISTSIM_PRINTED}/distsim
    COMMAND distsim completion zsh > ${DISTSIM_PRINTED}/_distsim)
  install(FILES ${DISTSIM_PRINTED}/distsim.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT simulator)
  install(FILES ${DISTSIM_PRINTED}/distsim DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT simulator)
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\" AND EXISTS /etc/debian_version)
      set(folder vendor-completions)  # where Debian's zsh looks below /usr
    endif()
    file(INSTALL \"${DISTSIM_PRINTED}/_distsim\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")"
    COMPONENT simulator)
endif()

install(TARGETS distsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT simulator)
if(TARGET distsim_mpi)  # found from the binary as ../lib/distsim (sim/study/points/team.cpp)
  install(TARGETS distsim_mpi LIBRARY DESTINATION lib/distsim COMPONENT benchmarks OPTIONAL)
endif()
foreach(bench collective_bench op_bench)
  if(TARGET ${bench})
    install(TARGETS ${bench} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT benchmarks OPTIONAL)
  endif()
endforeach()

# Found from the binary as ../share/distsim/configs (sim/config/config_folders.cpp), so that an installation can be moved.
install(DIRECTORY configs DESTINATION share/distsim COMPONENT simulator)
install(FILES sim/serving/policies/library/distsim_policy.hpp DESTINATION include/distsim COMPONENT simulator)  # for policies of the user's
# The format of curve files, which other programs may want to read and write.
install(FILES collectives/curve_file/curve.proto DESTINATION share/distsim/proto COMPONENT simulator)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/distsim COMPONENT simulator)
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/distsim COMPONENT simulator)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/distsim COMPONENT simulator)

# For programs that link it: -DCMAKE_PREFIX_PATH=PREFIX, find_package(distsim).
if(TARGET distsim_library)
  include(CMakePackageConfigHelpers)
  install(TARGETS distsim_library EXPORT distsimTargets LIBRARY DESTINATION lib COMPONENT library OPTIONAL)
  install(DIRECTORY sim/api/public/ DESTINATION include/distsim COMPONENT library)
  install(FILES sim/serving/policies/library/distsim_policy.hpp DESTINATION include/distsim COMPONENT library)
  install(EXPORT distsimTargets NAMESPACE distsim:: DESTINATION lib/cmake/distsim COMPONENT library)
  configure_package_config_file(cmake/distsimConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/distsimConfig.cmake INSTALL_DESTINATION lib/cmake/distsim)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/distsimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/generated/distsimConfig.cmake ${PROJECT_BINARY_DIR}/generated/distsimConfigVersion.cmake
          DESTINATION lib/cmake/distsim COMPONENT library)
  install(DIRECTORY configs DESTINATION share/distsim COMPONENT library)
  install(DIRECTORY examples DESTINATION share/distsim COMPONENT library)
endif()

# A folder that can be copied anywhere and put on PYTHONPATH: the module with its library and configuration, and distsim_capture.
set(DISTSIM_PYTHON_DIR "lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages" CACHE STRING
    "Where the Python module is installed, below the prefix; . : the prefix itself")
if(TARGET distsim_python)
  install(TARGETS distsim_python LIBRARY DESTINATION ${DISTSIM_PYTHON_DIR}/distsim COMPONENT python OPTIONAL)
  install(TARGETS distsim_library LIBRARY DESTINATION ${DISTSIM_PYTHON_DIR}/distsim COMPONENT python OPTIONAL NAMELINK_SKIP)
  foreach(package distsim distsim_capture)
    install(DIRECTORY python/${package} DESTINATION ${DISTSIM_PYTHON_DIR} COMPONENT python PATTERN __pycache__ EXCLUDE)
  endforeach()
  install(DIRECTORY configs DESTINATION ${DISTSIM_PYTHON_DIR}/distsim COMPONENT python)
  install(FILES ${PROJECT_BINARY_DIR}/generated/METADATA DESTINATION ${DISTSIM_PYTHON_DIR}/distsim-${PROJECT_VERSION}.dist-info COMPONENT python)
  file(WRITE ${PROJECT_BINARY_DIR}/generated/METADATA
"Metadata-Version: 2.1
Name: distsim
Version: ${PROJECT_VERSION}
Summary: Predicts the time of a training iteration on a GPU cluster
License-File: LICENSE
Requires-Python: >=3.8
Provides-Extra: capture
Requires-Dist: torch>=1.13; extra == 'capture'
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
")
endif()

# Whoever publishes packages puts his own address and page here.
set(DISTSIM_MAINTAINER "distsim maintainers <maintainers@distsim.invalid>" CACHE STRING "Maintainer of packages, NAME <ADDRESS>")
set(DISTSIM_HOMEPAGE "" CACHE STRING "Home page that packages name; empty: none")

set(CPACK_PACKAGE_NAME distsim)
set(CPACK_PACKAGE_VENDOR "distsim maintainers")
set(CPACK_PACKAGE_CONTACT ${DISTSIM_MAINTAINER})
if(DISTSIM_HOMEPAGE)
  set(CPACK_PACKAGE_HOMEPAGE_URL ${DISTSIM_HOMEPAGE})
endif()
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL simulator)
if(TARGET collective_bench OR TARGET op_bench)
  list(APPEND CPACK_COMPONENTS_ALL benchmarks)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_SIMULATOR_PACKAGE_NAME distsim)
set(CPACK_DEBIAN_BENCHMARKS_PACKAGE_NAME distsim-bench)
# The first line is the summary; CPACK_PACKAGE_DESCRIPTION_SUMMARY would stand before it.
set(CPACK_DEBIAN_SIMULATOR_DESCRIPTION
"predicts the time of a training iteration on a GPU cluster
distsim composes compute models of single GPU operations and measured curves of
collectives over the topology of a cluster, and says how long one iteration of
distributed training takes, and why. It needs no GPU.")
set(CPACK_DEBIAN_BENCHMARKS_DESCRIPTION
"measures collectives and GPU operations for distsim
collective_bench times collectives over NCCL, MPI or TCP, op_bench the kernels of
a GPU; distsim reads what they write.")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageOptions.cmake)
include(CPack)
