# import distsim: python/distsim with its compiled part, in <build>/python for tests and as an installed folder. docs/python.md
option(DISTSIM_PYTHON "Build the Python module, if pybind11 is found" ON)
set(DISTSIM_PYTHON_MODULE OFF)
if(DISTSIM_PYTHON AND TARGET distsim_library)
  find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
  set(PYBIND11_FINDPYTHON OFF)
  set(PYBIND11_NOPYTHON ON)  # this Python, not another one
  find_package(pybind11 2.9 QUIET)
  if(Python3_Development.Module_FOUND AND pybind11_FOUND)
    set(DISTSIM_PYTHON_MODULE ON)
  else()
    message(STATUS "Python module: not built, no pybind11 found (pybind11-dev, python3-dev)")
  endif()
endif()

if(DISTSIM_PYTHON_MODULE)
  set(package ${PROJECT_BINARY_DIR}/python/distsim)
  file(MAKE_DIRECTORY ${package})
  file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/distsim/*.py ${PROJECT_SOURCE_DIR}/python/distsim/*.pyi ${PROJECT_SOURCE_DIR}/python/distsim/py.typed)
  foreach(part ${parts})
    get_filename_component(name ${part} NAME)
    file(CREATE_LINK ${part} ${package}/${name} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/distsim_capture ${PROJECT_BINARY_DIR}/python/distsim_capture SYMBOLIC)

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/module/*.cpp)
  Python3_add_library(distsim_python MODULE WITH_SOABI ${sources})
  target_link_libraries(distsim_python PRIVATE distsim::distsim pybind11::headers)
  target_include_directories(distsim_python PRIVATE ${PROJECT_SOURCE_DIR}/sim/serving/policies/library)  # distsim_policy.hpp
  target_compile_options(distsim_python PRIVATE ${DISTSIM_HARDENING} $<$<CONFIG:RelWithDebInfo>:-Og>)
  distsim_unity(distsim_python 4)
  # The library lies beside the module where it is installed, and is found in <build>/lib before.
  set_target_properties(distsim_python PROPERTIES OUTPUT_NAME _distsim CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${package} INSTALL_RPATH "$ORIGIN")
endif()
