# distsim_folder(NAME PATH <folder> [SEES <names>...] [EXCEPT <files or subfolders>...] [PROTO <file>] [LINK <libraries>...] [DEFINE <macros>...]
#                [GROUPS <subfolders>...] [APART <subfolders>...] [COLD])
#   A static library distsim_NAME of all .cpp files of the folder and its subfolders. Its headers are reached as "<folder>/x.hpp" through an
#   include directory that holds nothing else, so that a file can only include what its target SEES: an include upwards does not build.
#   What each folder sees is written to <build>/floors.txt, which tests/structure_test.py reads.
#   With the tests comes distsim_NAME_sanitized, which only the target `sanitized` builds. There, and with DISTSIM_UNITY, ten files are
#   compiled as one, which takes a third of the time; so names in the anonymous namespaces of a folder differ. They need not differ from those
#   of a subfolder of GROUPS, whose files are compiled as one among themselves, nor in subfolders that are kept APART.
#   COLD: little of the time of any command passes there, so that it is compiled with -O1, a fifth sooner.
function(distsim_folder NAME)
  cmake_parse_arguments(ARG "COLD" "PATH;PROTO" "SEES;EXCEPT;LINK;DEFINE;GROUPS;APART" ${ARGN})
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

  distsim_unity_groups(${PROJECT_SOURCE_DIR}/${ARG_PATH} "${sources}" "${ARG_GROUPS}" "${ARG_APART}")

  add_library(distsim_${NAME} STATIC ${sources})
  target_compile_options(distsim_${NAME} PRIVATE ${DISTSIM_HARDENING} $<$<AND:$<BOOL:${ARG_COLD}>,$<CONFIG:RelWithDebInfo>>:-O1>)
  set_target_properties(distsim_${NAME} PROPERTIES UNITY_BUILD ${DISTSIM_UNITY} UNITY_BUILD_MODE GROUP)
  set(copies "_")
  if(DISTSIM_TESTS)
    add_library(distsim_${NAME}_sanitized OBJECT EXCLUDE_FROM_ALL ${sources})
    set_target_properties(distsim_${NAME}_sanitized PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
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

# distsim_unity_groups(ROOT SOURCES GROUPS APART)
#   Which of SOURCES are compiled as one: at most ten of a subfolder of GROUPS, none of a subfolder of APART, ten by ten of the others.
function(distsim_unity_groups ROOT SOURCES GROUPS APART)
  foreach(subfolder ${APART})
    list(FILTER SOURCES EXCLUDE REGEX "^${ROOT}/${subfolder}/")
  endforeach()
  foreach(subfolder ${GROUPS} "")
    set(group ${SOURCES})
    if(subfolder)
      list(FILTER group INCLUDE REGEX "^${ROOT}/${subfolder}/")
      list(FILTER SOURCES EXCLUDE REGEX "^${ROOT}/${subfolder}/")
    endif()
    set(count 0)
    foreach(source ${group})
      math(EXPR batch "${count} / 10")
      math(EXPR count "${count} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${subfolder}_${batch}")
    endforeach()
  endforeach()
endfunction()

# distsim_unity(TARGET SIZE): with DISTSIM_UNITY, SIZE files of TARGET are compiled as one; names in their anonymous namespaces differ.
function(distsim_unity TARGET SIZE)
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ${DISTSIM_UNITY} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${SIZE})
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

# distsim_assets(NAME <files>...)
#   Files of web/dist as constants of "<NAME>/assets_text.hpp", for distsim_NAME alone: kIndexHtml of index.html. Editing a file makes it anew.
function(distsim_assets NAME)
  set(DISTSIM_ASSETS "")
  set(DISTSIM_ASSETS_OF ${NAME})
  foreach(file ${ARGN})
    set(path ${PROJECT_SOURCE_DIR}/web/dist/${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    file(READ ${path} text)
    string(REGEX MATCH "^([a-z])([a-z_]*)\\.([a-z])([a-z]*)$" matched ${file})
    string(TOUPPER "${CMAKE_MATCH_1}" first)
    string(TOUPPER "${CMAKE_MATCH_3}" ending)
    set(name "k${first}${CMAKE_MATCH_2}${ending}${CMAKE_MATCH_4}")
    string(APPEND DISTSIM_ASSETS
      "inline constexpr char ${name}Text[] = R\"page_asset(${text})page_asset\";\n"
      "inline constexpr std::string_view ${name}(${name}Text, sizeof ${name}Text - 1);\n")
  endforeach()
  set(out ${PROJECT_BINARY_DIR}/generated/assets)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/assets_text.hpp.in ${out}/${NAME}/assets_text.hpp @ONLY)
  foreach(target distsim_${NAME} distsim_${NAME}_sanitized)
    if(TARGET ${target})
      target_include_directories(${target} PRIVATE ${out})
    endif()
  endforeach()
endfunction()

# distsim_headers_of_boost(NAME)
#   Boost's headers for distsim_NAME, where there are any; nothing of Boost is linked.
function(distsim_headers_of_boost NAME)
  foreach(target distsim_${NAME} distsim_${NAME}_sanitized)
    if(TARGET ${target} AND Boost_FOUND)
      target_include_directories(${target} SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
      target_compile_definitions(${target} PRIVATE BOOST_ERROR_CODE_HEADER_ONLY BOOST_ASIO_NO_DEPRECATED)
    endif()
  endforeach()
endfunction()

# distsim_test_root()
#   The library distsim_test_root, which alone knows where this checkout lies: what a test compiles to is the same in every checkout.
function(distsim_test_root)
  if(NOT TARGET distsim_test_root)
    add_library(distsim_test_root STATIC ${PROJECT_SOURCE_DIR}/tests/support/test_root.cpp)
    target_compile_definitions(distsim_test_root PRIVATE DISTSIM_ROOT="${PROJECT_SOURCE_DIR}")
    target_include_directories(distsim_test_root PUBLIC ${PROJECT_SOURCE_DIR}/tests/support)
  endif()
endfunction()

# distsim_test(NAME SEES <names>... [LINK <libraries>...] [ANSWERS <tests>...])
#   Test binary test_NAME of all .cpp files in tests/NAME, and test_NAME_sanitized of the same objects; both are registered with ctest,
#   the second for `ctest -C sanitized`. With DISTSIM_UNITY eight files are compiled as one, so names in their anonymous namespaces differ.
#   ANSWERS: patterns of gtest of long tests that compare answers of the same code by the hundred, which the second leaves out: others
#   pass there too, and find what the sanitizers can find.
function(distsim_test NAME)
  cmake_parse_arguments(ARG "" "" "SEES;LINK;ANSWERS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${NAME}/*.cpp)
  add_library(test_${NAME}_objects OBJECT ${sources})
  distsim_test_root()
  set(libraries ${ARG_LINK} distsim_test_root GTest::gtest GTest::gtest_main)
  list(TRANSFORM ARG_SEES PREPEND distsim_ OUTPUT_VARIABLE folders)
  target_link_libraries(test_${NAME}_objects PRIVATE ${folders} ${libraries})
  distsim_unity(test_${NAME}_objects 8)
  distsim_precompiled(test_${NAME}_objects -O0)  # nearly all of their time is in the folders
  add_executable(test_${NAME} $<TARGET_OBJECTS:test_${NAME}_objects>)
  target_link_libraries(test_${NAME} PRIVATE ${folders} ${libraries})
  distsim_sanitized(test_${NAME}_sanitized OBJECTS $<TARGET_OBJECTS:test_${NAME}_objects> SEES ${ARG_SEES} LINK ${libraries})
  list(JOIN ARG_ANSWERS ":" left_out)
  distsim_register(${NAME} COMMAND test_${NAME} ARGS --gtest_brief=1 SANITIZED_ARGS --gtest_filter=-${left_out})
endfunction()

# distsim_register(NAME COMMAND <target> [ARGS <words>...] [BEFORE <words>...] [SANITIZED_ARGS <words>...])
#   The test NAME, which runs BEFORE, the target's program and ARGS; and NAME_sanitized, the same with the program <target>_sanitized
#   and SANITIZED_ARGS besides.
function(distsim_register NAME)
  cmake_parse_arguments(ARG "" "COMMAND" "ARGS;BEFORE;SANITIZED_ARGS" ${ARGN})
  add_test(NAME ${NAME} COMMAND ${ARG_BEFORE} $<TARGET_FILE:${ARG_COMMAND}> ${ARG_ARGS})
  add_test(NAME ${NAME}_sanitized COMMAND ${ARG_BEFORE} $<TARGET_FILE:${ARG_COMMAND}_sanitized> ${ARG_ARGS} ${ARG_SANITIZED_ARGS} CONFIGURATIONS sanitized)
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 600)
  set_tests_properties(${NAME}_sanitized PROPERTIES TIMEOUT 900 LABELS sanitized)
endfunction()
