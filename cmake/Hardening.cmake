# What makes a bug in a reader harder to use: position-independent programs, relocations that are read-only from the start, canaries on
# the stack, and checked string functions. tests/hardening_test.py looks for all of it in the program.
include(CheckPIESupported)
check_pie_supported(OUTPUT_VARIABLE ignored LANGUAGES CXX)

add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack)

# Level 3 of _FORTIFY_SOURCE knows sizes at run time; older compilers have level 2. It needs optimization. Some distributions set a level
# themselves, hence -U.
set(DISTSIM_FORTIFY 2)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12))
  set(DISTSIM_FORTIFY 3)
endif()

option(DISTSIM_HARDENED "Compile with stack protectors and checked string functions" ON)  # OFF: tests/hardening_test.py fails

# For the folders themselves, not for tests and sanitized copies: sanitizers check more.
if(DISTSIM_HARDENED)
set(DISTSIM_HARDENING $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release,MinSizeRel>>:-U_FORTIFY_SOURCE>
                      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release,MinSizeRel>>:-D_FORTIFY_SOURCE=${DISTSIM_FORTIFY}>)
endif()
