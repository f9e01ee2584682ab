# Compiler cache, linker, warnings and sanitizers: everything about how, nothing about what.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)  # the sloppiness lets it cache what uses precompiled headers
  # Paths below the sources are looked up relative to them, so that a second checkout finds what the first compiled. What a file includes
  # is read from what the compiler says of it: without CCACHE_DEPEND, a file that is not in the cache is preprocessed first, a fifth of its time.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
# GCC collects its garbage seldom where there is memory for that: a tenth of the time of a large file.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
if(memory_mib GREATER 15000)
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1000000>")
endif()
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
# Files name themselves by their place in the project, wherever that lies: what is compiled is the same in every checkout.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
# One set of rounding rules everywhere: no contraction of a*b+c, so that a prediction is the same to the bit on every machine.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# What the sanitized copies of the folders are compiled with (distsim_folder). The registries need addresses of functions to be
# constants, which GCC does not grant with the checks on attributes. Without `null`: the address sanitizer reports such an access
# anyway, and the check takes a quarter of the time to compile; without `vptr`, `object-size`, `alignment`, `pointer-overflow` and what
# the compiler itself warns of, for the same reason; and what was used after its scope is left to the fuzzers, which clang compiles.
set(DISTSIM_SANITIZERS -fsanitize=address,undefined $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize-address-use-after-scope> -fno-sanitize=null,vptr,object-size,nonnull-attribute,returns-nonnull-attribute
                       -fno-sanitize=alignment,pointer-overflow,return,unreachable,builtin,vla-bound -fno-sanitize-recover=all)

# Fuzzers are instrumented in all their parts; the linker knows nothing of the fuzzer's main.
if(DISTSIM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DISTSIM_FUZZ: found ${CMAKE_CXX_COMPILER_ID}, expected clang, which has libFuzzer; scripts/fuzz.sh chooses it")
  endif()
  add_compile_options(-g1 ${DISTSIM_SANITIZERS} -fsanitize=alignment,pointer-overflow,fuzzer-no-link)
  add_link_options(-fsanitize=address,undefined)
endif()

# Precompiled headers of the standard library, and of what half of the files include besides, save a third of the time to compile the
# tests and a sixth of the folders'. Where the files of a folder are compiled one by one, they do without, so that a missing #include does
# not build.
set(DISTSIM_STANDARD_HEADERS <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <filesystem> <fstream>
                             <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string>
                             <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>)

# distsim_precompiled_host(HOST HEADERS <headers>... [LINK <libraries>...] [OPTIONS <options>...] [DEFINE <macros>...])
#   The target HOST, whose precompiled headers those share that have the same options; made once.
function(distsim_precompiled_host HOST)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK;OPTIONS;DEFINE" ${ARGN})
  if(NOT TARGET ${HOST})
    file(WRITE ${PROJECT_BINARY_DIR}/${HOST}.cpp "")
    add_library(${HOST} STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${HOST}.cpp)
    target_link_libraries(${HOST} PRIVATE ${ARG_LINK})
    target_compile_options(${HOST} PRIVATE ${ARG_OPTIONS} $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
    target_compile_definitions(${HOST} PRIVATE ${ARG_DEFINE})
    target_precompile_headers(${HOST} PRIVATE ${DISTSIM_STANDARD_HEADERS} ${ARG_HEADERS})
  endif()
endfunction()

# distsim_precompiled_folder(TARGET KIND OPTIONS <options>... [DEFINE <macros>...])
#   Gives a folder's TARGET the headers that all of its KIND share, which are compiled with the same OPTIONS and macros.
function(distsim_precompiled_folder TARGET KIND)
  cmake_parse_arguments(ARG "" "" "OPTIONS;DEFINE" ${ARGN})
  if(NOT nlohmann_json_FOUND)
    return()
  endif()
  set(host distsim_precompiled_${KIND})
  distsim_precompiled_host(${host} HEADERS <nlohmann/json.hpp> LINK nlohmann_json::nlohmann_json OPTIONS ${ARG_OPTIONS} DEFINE ${ARG_DEFINE})
  target_compile_options(${TARGET} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(${TARGET} REUSE_FROM ${host})
endfunction()

# distsim_precompiled(TARGET OPTIONS...): gives the tests in TARGET the precompiled headers, built once for all, and OPTIONS, which must
# be the same for all of them.
function(distsim_precompiled TARGET)
  distsim_precompiled_host(distsim_precompiled_tests HEADERS <gtest/gtest.h> LINK GTest::gtest OPTIONS ${ARGN})
  target_compile_options(${TARGET} PRIVATE ${ARGN} $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  target_precompile_headers(${TARGET} REUSE_FROM distsim_precompiled_tests)
  get_target_property(type ${TARGET} TYPE)
  if(type STREQUAL "EXECUTABLE")  # else -fPIE, with which headers that were compiled for libraries are not taken
    set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${TARGET} PRIVATE -fPIC)
  endif()
endfunction()

# The largest unit takes 2 GB: no more of them at once than the memory holds.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR units "1 + ${memory} / 2000")
set_property(GLOBAL APPEND PROPERTY JOB_POOLS units=${units})
set(CMAKE_JOB_POOL_COMPILE units)
