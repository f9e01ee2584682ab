# distsim_folder(NAME PATH <folder> [SEES <names>...] [EXCEPT <files or subfolders>...] [PROTO <file>] [LINK <libraries>...] [DEFINE <macros>...]
#                [APART <subfolders>...])
#   A static library distsim_NAME of all .cpp files of the folder and its subfolders. Its headers are reached as "<folder>/x.hpp" through an
#   include directory that holds nothing else, so that a file can only include what its target SEES: an include upwards does not build.
#   What each folder sees is written to <build>/floors.txt, which tests/structure_test.py reads.
#   With the tests comes distsim_NAME_sanitized, which only the target `sanitized` builds. There, and with DISTSIM_UNITY, ten files are
#   compiled as one, which takes a third of the time; so names in the anonymous namespaces of a folder differ, except in the subfolders that
#   are kept APART.
function(distsim_folder NAME)
  cmake_parse_arguments(ARG "" "PATH;PROTO" "SEES;EXCEPT;LINK;DEFINE;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_PATH}/*.cpp)
  foreach(excluded ${ARG_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${ARG_PATH}/${excluded}(/|$)")
  endforeach()

  set(view ${PROJECT_BINARY_DIR}/include/${NAME})
  get_filename_component(parent ${view}/${ARG_PATH} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${ARG_PATH} ${view}/${ARG_PATH} SYMBOLIC)

  if(NOT sources)  # a folder of headers only
    file(WRITE ${PROJECT_BINARY_DIR}/distsim_${NAME}_headers_only.cpp "")
    set(sources ${PROJECT_BINARY_DIR}/distsim_${NAME}_headers_only.cpp)
  endif()
  if(ARG_PROTO)
    set(out ${PROJECT_BINARY_DIR}/generated/${NAME})
    file(MAKE_DIRECTORY ${out})
    get_filename_component(stem ${ARG_PROTO} NAME_WE)
    get_filename_component(folder ${ARG_PROTO} DIRECTORY)
    set(generated ${out}/${folder}/${stem}.pb.cc ${out}/${folder}/${stem}.pb.h)
    add_custom_command(
      OUTPUT ${generated}
      COMMAND protobuf::protoc --cpp_out=${out} -I${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${ARG_PROTO}
      DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_PROTO})
    list(APPEND sources ${generated})
    set_source_files_properties(${generated} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()

  foreach(apart_folder ${ARG_APART})
    set(apart ${sources})
    list(FILTER apart INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${ARG_PATH}/${apart_folder}/")
    set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()

  add_library(distsim_${NAME} STATIC ${sources})
  set_target_properties(distsim_${NAME} PROPERTIES UNITY_BUILD ${DISTSIM_UNITY} UNITY_BUILD_BATCH_SIZE 10)
  set(copies "_")
  if(DISTSIM_TESTS)
    add_library(distsim_${NAME}_sanitized OBJECT EXCLUDE_FROM_ALL ${sources})
    set_target_properties(distsim_${NAME}_sanitized PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    target_compile_options(distsim_${NAME}_sanitized PRIVATE -O1 ${DISTSIM_SANITIZERS})
    target_compile_definitions(distsim_${NAME}_sanitized PRIVATE _GLIBCXX_ASSERTIONS)
    list(APPEND copies "_sanitized")
  endif()
  foreach(copy ${copies})
    string(REGEX REPLACE "^_$" "" suffix ${copy})
    set(target distsim_${NAME}${suffix})
    target_include_directories(${target} PUBLIC ${view})
    foreach(seen ${ARG_SEES})
      target_link_libraries(${target} PUBLIC distsim_${seen}${suffix})
    endforeach()
    target_link_libraries(${target} PRIVATE ${ARG_LINK})
    target_compile_definitions(${target} PRIVATE ${ARG_DEFINE})
    if(ARG_PROTO)
      target_include_directories(${target} SYSTEM PUBLIC ${out})
      target_link_libraries(${target} PUBLIC protobuf::libprotobuf)
    endif()
  endforeach()

  string(REPLACE ";" " " sees "${ARG_SEES}")
  set_property(GLOBAL APPEND_STRING PROPERTY DISTSIM_FLOORS "${NAME} ${ARG_PATH}: ${sees}\n")
  set(below ${NAME})  # itself and all that it sees, directly or not
  foreach(seen ${ARG_SEES})
    get_property(more GLOBAL PROPERTY DISTSIM_BELOW_${seen})
    list(APPEND below ${more})
  endforeach()
  list(REMOVE_DUPLICATES below)
  set_property(GLOBAL PROPERTY DISTSIM_BELOW_${NAME} "${below}")
endfunction()

# distsim_sanitized(TARGET OBJECTS <objects>... SEES <names>... [LINK <libraries>...])
#   An executable of OBJECTS and the sanitized copies of the folders. The copies come first: of an inline function in both,
#   the linker takes the one with the checks.
function(distsim_sanitized TARGET)
  cmake_parse_arguments(ARG "" "" "OBJECTS;SEES;LINK" ${ARGN})
  set(below "")
  foreach(seen ${ARG_SEES})
    get_property(more GLOBAL PROPERTY DISTSIM_BELOW_${seen})
    list(APPEND below ${more})
  endforeach()
  list(REMOVE_DUPLICATES below)
  list(TRANSFORM below REPLACE "(.+)" "$<TARGET_OBJECTS:distsim_\\1_sanitized>" OUTPUT_VARIABLE objects)
  add_executable(${TARGET} EXCLUDE_FROM_ALL ${objects} ${ARG_OBJECTS})
  foreach(seen ${below})
    get_target_property(libraries distsim_${seen}_sanitized LINK_LIBRARIES)
    list(FILTER libraries EXCLUDE REGEX "^distsim_")
    target_link_libraries(${TARGET} PRIVATE ${libraries})
  endforeach()
  target_link_libraries(${TARGET} PRIVATE ${ARG_LINK})
  target_link_options(${TARGET} PRIVATE -fsanitize=address,undefined)
  add_dependencies(sanitized ${TARGET})
endfunction()

# distsim_constants(NAME <file>)
#   The text of <file> as a constant of "<NAME>/shipped_constants_text.hpp", for distsim_NAME alone. Editing the file makes it anew.
function(distsim_constants NAME FILE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${FILE})
  file(READ ${PROJECT_SOURCE_DIR}/${FILE} DISTSIM_CONSTANTS_TEXT)
  set(out ${PROJECT_BINARY_DIR}/generated/constants)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/shipped_constants_text.hpp.in ${out}/${NAME}/shipped_constants_text.hpp @ONLY)
  target_include_directories(distsim_${NAME} PRIVATE ${out})
  if(TARGET distsim_${NAME}_sanitized)
    target_include_directories(distsim_${NAME}_sanitized PRIVATE ${out})
  endif()
endfunction()

# distsim_test(NAME SEES <names>... [LINK <libraries>...])
#   Test binary test_NAME of all .cpp files in tests/NAME, and test_NAME_sanitized of the same objects; both are registered with ctest,
#   the second for `ctest -C sanitized`.
function(distsim_test NAME)
  cmake_parse_arguments(ARG "" "" "SEES;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${NAME}/*.cpp)
  add_library(test_${NAME}_objects OBJECT ${sources})
  set(libraries ${ARG_LINK} GTest::gtest GTest::gtest_main)
  list(TRANSFORM ARG_SEES PREPEND distsim_ OUTPUT_VARIABLE folders)
  target_link_libraries(test_${NAME}_objects PRIVATE ${folders} ${libraries})
  target_include_directories(test_${NAME}_objects PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(test_${NAME}_objects PRIVATE DISTSIM_ROOT="${PROJECT_SOURCE_DIR}")
  distsim_precompiled(test_${NAME}_objects -O0)  # nearly all of their time is in the folders
  add_executable(test_${NAME} $<TARGET_OBJECTS:test_${NAME}_objects>)
  target_link_libraries(test_${NAME} PRIVATE ${folders} ${libraries})
  distsim_sanitized(test_${NAME}_sanitized OBJECTS $<TARGET_OBJECTS:test_${NAME}_objects> SEES ${ARG_SEES} LINK ${libraries})
  distsim_register(${NAME} COMMAND test_${NAME} ARGS --gtest_brief=1)
endfunction()

# distsim_register(NAME COMMAND <target> [ARGS <words>...] [BEFORE <words>...])
#   The test NAME, which runs BEFORE, the target's program and ARGS; and NAME_sanitized, the same with the program <target>_sanitized.
function(distsim_register NAME)
  cmake_parse_arguments(ARG "" "COMMAND" "ARGS;BEFORE" ${ARGN})
  add_test(NAME ${NAME} COMMAND ${ARG_BEFORE} $<TARGET_FILE:${ARG_COMMAND}> ${ARG_ARGS})
  add_test(NAME ${NAME}_sanitized COMMAND ${ARG_BEFORE} $<TARGET_FILE:${ARG_COMMAND}_sanitized> ${ARG_ARGS} CONFIGURATIONS sanitized)
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 600)
  set_tests_properties(${NAME}_sanitized PROPERTIES TIMEOUT 900 LABELS sanitized)
endfunction()
