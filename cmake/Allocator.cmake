# distsim_allocator(TARGET): links oneTBB's allocator, where it is found. A sweep makes and frees hundreds of small objects for each
# point, on several threads; with it 100,000 points take four fifths of the time that they take with glibc's malloc
# (docs/performance.md). Of the usual ones it is the one that stays quiet, and throws, when a limit of memory is reached.
option(DISTSIM_TBBMALLOC "Link oneTBB's allocator where it is found (libtbb-dev)" ON)

if(DISTSIM_TBBMALLOC AND NOT DISTSIM_FUZZ)  # sanitizers bring an allocator of their own
  find_library(TBBMALLOC_LIBRARY tbbmalloc_proxy)
  mark_as_advanced(TBBMALLOC_LIBRARY)
  if(NOT TBBMALLOC_LIBRARY)
    message(STATUS "distsim: built without oneTBB's allocator (libtbb-dev), large sweeps and plans take longer")
  endif()
endif()

function(distsim_allocator TARGET)
  if(TBBMALLOC_LIBRARY AND DISTSIM_TBBMALLOC AND NOT DISTSIM_FUZZ)
    # No symbol of the program needs it before libc, so that --as-needed would leave it out.
    target_link_libraries(${TARGET} PRIVATE -Wl,--push-state,--no-as-needed ${TBBMALLOC_LIBRARY} -Wl,--pop-state)
  endif()
endfunction()
