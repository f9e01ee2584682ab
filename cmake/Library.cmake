# libdistsim.so, which other programs link: find_package(distsim), distsim::distsim. docs/cpp_library.md
# Its own folder is sim/api; only what the headers of sim/api/public declare is visible (cmake/library.map).
option(DISTSIM_LIBRARY "Build libdistsim.so and its CMake package" ON)
if(DISTSIM_LIBRARY)
  set_target_properties(distsim_api PROPERTIES CXX_VISIBILITY_PRESET hidden)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include/library)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sim/api/public ${PROJECT_BINARY_DIR}/include/library/distsim SYMBOLIC)

  add_library(distsim_library SHARED $<TARGET_OBJECTS:distsim_api>)
  add_library(distsim::distsim ALIAS distsim_library)
  get_property(below GLOBAL PROPERTY DISTSIM_BELOW_api)
  list(TRANSFORM below PREPEND distsim_)
  target_link_libraries(distsim_library PRIVATE ${below} fmt::fmt)
  target_include_directories(distsim_library INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/library> $<INSTALL_INTERFACE:include>)
  target_compile_features(distsim_library INTERFACE cxx_std_17)
  target_link_options(distsim_library PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/library.map)
  set(interface ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set_target_properties(distsim_library PROPERTIES
    OUTPUT_NAME distsim EXPORT_NAME distsim VERSION ${interface} SOVERSION ${interface}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/library.map LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
else()
  message(STATUS "library and Python module: not built (DISTSIM_LIBRARY=OFF)")
endif()
