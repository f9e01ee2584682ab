// Blend: combines several measured curves into the price of one collective on one group.
//
// Curves mix by weight: trust, halved for every factor of two outside their range (CarriedCurve says what each
// predicts). The mix is sampled on a grid of sizes and made monotone by isotonic regression: it never costs less to
// send more. Where curves disagree, low and high widen.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/curves/carried_curve.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::collectives {

class Blend {
 public:
  /// `evidence` not empty; `model` is that of the group in question.
  Blend(const std::vector<Evidence>& evidence, AnalyticModel model);

  struct Value {
    double time_us, low_us, high_us;
    graph::Basis basis;
    std::string_view source;
  };
  Value at(double bytes) const;

 private:
  struct Node {
    double log2_bytes = 0, bytes = 0, log_time = 0, log_low = 0, log_high = 0, weight = 0;
    bool pinned = false;    ///< a point of a curve of the same group; others follow
    bool measured = false;  ///< and that curve is the system's own
    bool inside = false;    ///< within the range of such a curve
    std::string_view source;
  };
  static Node mix(const std::vector<CarriedCurve>& curves, double t);
  void make_monotone();
  graph::Basis basis_between(const Node& a, const Node& b, double bytes) const;
  std::vector<Node> nodes_;
  AnalyticModel model_;
  bool same_group_ = false;
};

}  // namespace distsim::collectives
