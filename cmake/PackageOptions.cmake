# Read by cpack before it makes a package: without dpkg-shlibdeps a .deb would name none of the libraries it needs.
if(CPACK_GENERATOR STREQUAL "DEB")
  find_program(DISTSIM_SHLIBDEPS dpkg-shlibdeps)
  if(NOT DISTSIM_SHLIBDEPS)
    message(FATAL_ERROR " dpkg-shlibdeps not found. Debian and Ubuntu: apt-get install dpkg-dev. Other packages: cpack -G TGZ")
  endif()
endif()
