// How much memory the test's process has held at most.
#pragma once

#include <sys/resource.h>

extern "C" __attribute__((weak)) void __asan_init();  // there only in programs with the address sanitizer

namespace distsim::test {

inline long peak_kib() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// Whether freed memory is held back, so that peaks say nothing.
inline bool has_address_sanitizer() { return &__asan_init != nullptr; }

}  // namespace distsim::test
