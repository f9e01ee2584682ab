# What the build needs. All that is missing is named at once, in one line, with the Debian packages that hold it.
set(DISTSIM_MISSING "")
set(DISTSIM_MISSING_DEBIAN "")

# distsim_needs(WHAT FOUND DEBIAN): notes the Debian package of something that was not found.
macro(distsim_needs WHAT FOUND DEBIAN)
  if(NOT ${FOUND})
    list(APPEND DISTSIM_MISSING ${WHAT})
    list(APPEND DISTSIM_MISSING_DEBIAN ${DEBIAN})
  endif()
endmacro()

# distsim_package(NAME DEBIAN): find_package, noted where it fails.
macro(distsim_package NAME DEBIAN)
  find_package(${NAME} QUIET)
  distsim_needs(${NAME} ${NAME}_FOUND ${DEBIAN})
endmacro()

# distsim_library(VARIABLE NAME DEBIAN): find_library, noted where it fails.
macro(distsim_library VARIABLE NAME DEBIAN)
  find_library(${VARIABLE} ${NAME})
  mark_as_advanced(${VARIABLE})
  distsim_needs(${NAME} ${VARIABLE} ${DEBIAN})
endmacro()

# distsim_stop_if_missing(PURPOSE): ends the configuration where something that PURPOSE needs is missing.
macro(distsim_stop_if_missing PURPOSE)
  if(DISTSIM_MISSING)
    list(JOIN DISTSIM_MISSING ", " missing)
    list(JOIN DISTSIM_MISSING_DEBIAN " " debian)
    message(FATAL_ERROR  # the blank in front keeps CMake from breaking the line
      " ${PURPOSE}: not found: ${missing}. Debian and Ubuntu: apt-get install ${debian}. Installed elsewhere: cmake -DCMAKE_PREFIX_PATH=FOLDER")
  endif()
endmacro()
