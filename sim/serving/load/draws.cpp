#include "sim/serving/load/draws.hpp"

#include <numeric>

#include "base/check.hpp"

namespace distsim::serving {
namespace {

double standard_normal(Random& random) {
  return normal_quantile((static_cast<double>(random.next() >> 12) + 0.5) * 0x1p-52);
}

}  // namespace

double gamma_of_mean_one(Random& random, double shape) {
  const double k = shape < 1 ? shape + 1 : shape;
  const double d = k - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double z = standard_normal(random), v = std::pow(1 + c * z, 3);
    const double u = 1 - random.uniform();  // not 0
    if (v <= 0 || std::log(u) > 0.5 * z * z + d - d * v + d * std::log(v)) continue;
    const double below_one = shape < 1 ? std::pow(1 - random.uniform(), 1 / shape) : 1;
    return d * v * below_one / shape;
  }
}

double lognormal_of_mean_one(Random& random, double cv) {
  const double variance = std::log1p(cv * cv);
  return std::exp(std::sqrt(variance) * standard_normal(random) - variance / 2);
}

WeightedChoice::WeightedChoice(const std::vector<double>& weights)
    : share_(weights.size(), 1), other_(weights.size(), 0) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  CHECK(sum > 0);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    share_[i] = weights[i] / sum * static_cast<double>(weights.size());
    (share_[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t s = small.back(), l = large.back();
    small.pop_back();
    other_[s] = l;
    share_[l] -= 1 - share_[s];
    if (share_[l] >= 1) continue;
    large.pop_back();
    small.push_back(l);
  }
  for (const std::uint32_t i : small) share_[i] = 1;  // what rounding left
}

}  // namespace distsim::serving
