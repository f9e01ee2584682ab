// Random numbers of a load.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"

namespace distsim::serving {

/// Exponential with this mean.
inline double exponential(Random& random, double mean) { return -mean * std::log1p(-random.uniform()); }

/// Gamma with this shape and mean 1 (Marsaglia and Tsang, A simple method for generating gamma variables, ACM TOMS 26,
/// 2000; below shape 1 with their power of a uniform number).
double gamma_of_mean_one(Random& random, double shape);

/// Log-normal with mean 1 and this coefficient of variation.
double lognormal_of_mean_one(Random& random, double cv);

/// An index drawn by weight, in constant time: Walker's alias table (Vose, IEEE TSE 17, 1991).
class WeightedChoice {
 public:
  /// Precondition: weights not negative, one above 0.
  explicit WeightedChoice(const std::vector<double>& weights);
  std::uint32_t draw(Random& random) const {
    if (share_.size() == 1) return 0;
    const double u = random.uniform() * static_cast<double>(share_.size());
    const auto i = static_cast<std::uint32_t>(u);
    return u - static_cast<double>(i) < share_[i] ? i : other_[i];
  }

 private:
  std::vector<double> share_;
  std::vector<std::uint32_t> other_;
};

}  // namespace distsim::serving
