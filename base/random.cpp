#include "base/random.hpp"

#include <cmath>
#include <numbers>

#include "base/check.hpp"

namespace distsim {
namespace {

double cumulative(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }
double density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }

/// Of the upper half, to about 4.5e-4: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23.
double rough_upper_quantile(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

double normal_quantile(double p) {
  CHECK(p > 0 && p < 1) << "probability " << p;
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p == 0.5) return 0;
  double z = -rough_upper_quantile(p);
  for (int i = 0; i < 3; ++i) z -= (cumulative(z) - p) / density(z);
  return z;
}

double expected_largest_of(std::uint64_t n) {
  CHECK(n > 0);
  const double count = static_cast<double>(n);
  return n == 1 ? 0 : normal_quantile((count - 0.375) / (count + 0.25));
}

double NormalDraws::next() { return normal_quantile((static_cast<double>(random_.next() >> 12) + 0.5) * 0x1p-52); }

}  // namespace distsim
