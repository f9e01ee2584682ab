// The normal distribution, the same on every machine (the standard library's draws are not).
#pragma once

#include <cstdint>

namespace distsim {

/// z with P(Z <= z) = p for a standard normal Z; 0 < p < 1. Newton steps on std::erfc from a rational start: error
/// below 1e-9 for 1e-12 <= p <= 1 - 1e-12.
double normal_quantile(double p);

/// Expected largest of n independent standard normal values, by Blom's approximation z((n - 0.375) / (n + 0.25)): 0 for
/// n = 1, within 0.03 up to n = 10^6. G. Blom, Statistical Estimates and Transformed Beta-Variables, 1958.
double expected_largest_of(std::uint64_t n);

/// Draws that depend on the seed and on nothing else (splitmix64).
class NormalDraws {
 public:
  explicit NormalDraws(std::uint64_t seed) : state_(seed) {}
  double next();

 private:
  std::uint64_t state_;
};

}  // namespace distsim
