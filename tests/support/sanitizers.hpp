// Whether a test runs with the address sanitizer, which takes five to ten times as long and holds freed memory back.
#pragma once

extern "C" __attribute__((weak)) void __asan_init();  // there only in programs with the address sanitizer

namespace distsim::test {

inline bool has_address_sanitizer() { return &__asan_init != nullptr; }

/// How many random samples to draw: a tenth with the address sanitizer, which finds in a few what it finds in many.
inline int samples(int ordinarily) { return has_address_sanitizer() ? ordinarily / 10 : ordinarily; }

}  // namespace distsim::test
