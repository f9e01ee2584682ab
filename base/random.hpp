// Randomness that is the same on every machine (the standard library's draws are not): SplitMix64, and the normal
// distribution.
#pragma once

#include <cstdint>

namespace distsim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

/// z with P(Z <= z) = p for a standard normal Z; 0 < p < 1. Newton steps on std::erfc from a rational start: error
/// below 1e-9 for 1e-12 <= p <= 1 - 1e-12.
double normal_quantile(double p);

/// Expected largest of n independent standard normal values, by Blom's approximation z((n - 0.375) / (n + 0.25)): 0 for
/// n = 1, within 0.03 up to n = 10^6. G. Blom, Statistical Estimates and Transformed Beta-Variables, 1958.
double expected_largest_of(std::uint64_t n);

/// Standard normal draws that depend on the seed and on nothing else.
class NormalDraws {
 public:
  explicit NormalDraws(std::uint64_t seed) : random_(seed) {}
  double next();

 private:
  Random random_;
};

}  // namespace distsim
