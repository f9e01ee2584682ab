// How much memory the test's process has held at most.
#pragma once

#include <sys/resource.h>

namespace distsim::test {

inline long peak_kib() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace distsim::test
