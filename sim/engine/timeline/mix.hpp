// SplitMix64's output function: a bijection of 64-bit numbers that spreads every input bit over all output bits.
#pragma once

#include <cstdint>

namespace distsim::engine {

constexpr std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace distsim::engine
