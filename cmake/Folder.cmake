# distsim_folder(NAME PATH <folder> [SEES <names>...] [EXCEPT <files or rooms>...] [PROTO <file>])
#   A static library distsim_NAME of all .cpp files of the folder and its rooms (sub-folders). Its headers are reached as "<folder>/x.hpp" through an
#   include directory that holds nothing else, so that a file can only include what its target SEES: an include upwards does not build.
#   What each folder sees is written to <build>/floors.txt, which tests/structure_test.py reads.
function(distsim_folder NAME)
  cmake_parse_arguments(ARG "" "PATH;PROTO" "SEES;EXCEPT" ${ARGN})
  set(target distsim_${NAME})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_PATH}/*.cpp)
  foreach(excluded ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${ARG_PATH}/${excluded}(/|$)")
  endforeach()

  set(view ${PROJECT_BINARY_DIR}/include/${NAME})
  get_filename_component(parent ${view}/${ARG_PATH} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${ARG_PATH} ${view}/${ARG_PATH} SYMBOLIC)

  if(NOT sources)  # a folder of headers alone
    file(WRITE ${PROJECT_BINARY_DIR}/${target}_headers_only.cpp "")
    set(sources ${PROJECT_BINARY_DIR}/${target}_headers_only.cpp)
  endif()
  add_library(${target} STATIC ${sources})
  if(DISTSIM_SANITIZE)
    distsim_precompiled(${target} folder)
  endif()
  target_include_directories(${target} PUBLIC ${view})
  foreach(seen ${ARG_SEES})
    target_link_libraries(${target} PUBLIC distsim_${seen})
  endforeach()
  string(REPLACE ";" " " sees "${ARG_SEES}")
  set_property(GLOBAL APPEND_STRING PROPERTY DISTSIM_FLOORS "${NAME} ${ARG_PATH}: ${sees}\n")

  if(ARG_PROTO AND EXISTS ${PROJECT_SOURCE_DIR}/${ARG_PROTO})
    set(out ${PROJECT_BINARY_DIR}/generated/${NAME})
    file(MAKE_DIRECTORY ${out})
    get_filename_component(stem ${ARG_PROTO} NAME_WE)
    get_filename_component(folder ${ARG_PROTO} DIRECTORY)
    add_custom_command(
      OUTPUT ${out}/${folder}/${stem}.pb.cc ${out}/${folder}/${stem}.pb.h
      COMMAND protobuf::protoc --cpp_out=${out} -I${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${ARG_PROTO}
      DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_PROTO})
    target_sources(${target} PRIVATE ${out}/${folder}/${stem}.pb.cc ${out}/${folder}/${stem}.pb.h)
    target_include_directories(${target} SYSTEM PUBLIC ${out})
    target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
  endif()
endfunction()

# distsim_constants(NAME <file>)
#   The text of <file> as a constant of "<NAME>/shipped_constants_text.hpp", for distsim_NAME alone. Editing the file makes it anew.
function(distsim_constants NAME FILE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${FILE})
  file(READ ${PROJECT_SOURCE_DIR}/${FILE} DISTSIM_CONSTANTS_TEXT)
  set(out ${PROJECT_BINARY_DIR}/generated/constants)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/shipped_constants_text.hpp.in ${out}/${NAME}/shipped_constants_text.hpp @ONLY)
  target_include_directories(distsim_${NAME} PRIVATE ${out})
endfunction()

# distsim_test(NAME SEES <names>...)
#   Test binary test_NAME of all .cpp files in tests/NAME, registered with ctest.
function(distsim_test NAME)
  cmake_parse_arguments(ARG "" "" "SEES;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${NAME}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${NAME} ${sources})
  foreach(seen ${ARG_SEES})
    target_link_libraries(test_${NAME} PRIVATE distsim_${seen})
  endforeach()
  target_include_directories(test_${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(test_${NAME} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  distsim_precompiled(test_${NAME} test -O0)  # nearly all of their time is in the folders
  target_compile_definitions(test_${NAME} PRIVATE DISTSIM_ROOT="${PROJECT_SOURCE_DIR}" DISTSIM_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${NAME} COMMAND test_${NAME} --gtest_brief=1)
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 600)
endfunction()
