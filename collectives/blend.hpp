// Blend: what several measured curves together say about one collective of one group.
//
// Each curve is carried as its residual to the analytic model of the group it was measured on, r(bytes) = ln(measured / model). Put on top of the model
// of the group in question this is, in one formula: the measurement itself (same group), interpolation that keeps the model's shape between two
// measured sizes, a continuous take-over by the model outside the range (r stays what it was at the edge), another node count, launch mode or link rate
// (the ratio of the two models). Curves mix by weight: trust, halved for every factor of two outside their range.
// The mix is sampled on a grid of sizes and made monotone by isotonic regression: it never costs less to send more.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "collectives/curve_set.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::collectives {

/// Time in us of a size in bytes by the analytic model.
using ModelFunction = std::function<double(double)>;

struct Evidence {
  const Curve* curve = nullptr;
  ModelFunction model;          ///< of the group that the curve was measured on
  double trust = 1;             ///< weight inside its range
  bool same_group = false;      ///< the very kind of group in question: its points are measurements, else they are scaled
  double shift = 0;             ///< log2 of bytes: add it to find where the curve's group was in the same regime
  double carry_spread = 0;      ///< relative uncertainty of carrying it over
  std::string_view source;
};

class Blend {
 public:
  /// `evidence` not empty; `model` is that of the group in question.
  Blend(const std::vector<Evidence>& evidence, ModelFunction model);

  struct Value {
    double time_us, low_us, high_us;
    Basis basis;
    std::string_view source;
  };
  Value at(double bytes) const;

 private:
  struct Node {
    double log2_bytes = 0, bytes = 0, log_time = 0, log_low = 0, log_high = 0, weight = 0;
    bool measured = false;      ///< a point of a curve of the same group
    bool inside = false;        ///< within the range of such a curve
    std::string_view source;
  };
  void make_monotone();
  Basis basis_between(const Node& a, const Node& b, double bytes) const;
  std::vector<Node> nodes_;
  ModelFunction model_;
  bool same_group_ = false;
};

}  // namespace distsim::collectives
