// Blend: combines several measured curves into the price of one collective on one group.
//
// Curves mix by weight: trust, halved for every factor of two outside their range (CarriedCurve says what each
// predicts). The analytic model is one more voice, with a trust and a range of its own: it yields to what was measured
// on the group, and evidence of no weight against it changes neither its price nor its range. The mix is sampled on a
// grid of sizes and made monotone by isotonic regression: it never costs less to send more. Basis and source are those
// of the voice that weighs most. Where curves disagree, low
// and high widen, at least to what sites of the same hardware differ by (spread.hpp); outside a curve's range they
// widen to those of the analytic model as its residual fades.
#pragma once

#include <string_view>
#include <vector>

#include "collectives/curves/carried_curve.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::collectives {

class Blend {
 public:
  /// `evidence` not empty; `model` is that of the group in question, which is inside one node or not.
  Blend(const std::vector<Evidence>& evidence, AnalyticModel model, bool one_node);

  struct Value {
    double time_us, low_us, high_us;
    graph::Basis basis;
    std::string_view source;  ///< empty where the basis is analytic
  };
  Value at(double bytes) const;
  /// Whether the curve that weighs most is one of the system itself, measured on this very group.
  bool same_group() const { return same_group_; }

 private:
  struct Node {
    double log2_bytes = 0, bytes = 0, log_time = 0, log_low = 0, log_high = 0, weight = 0;
    double pinned = 0;  ///< part of `weight` from curves of the same group that have a point here; the rest follows
    graph::Basis basis = graph::Basis::analytic;  ///< of the price at this very size: that of the heaviest voice
    std::string_view source;                      ///< likewise; empty where that is the model
  };
  Node mix(const std::vector<CarriedCurve>& curves, double t) const;
  void make_monotone();
  static graph::Basis basis_between(const Node& a, const Node& b, double t);
  std::vector<Node> nodes_;
  AnalyticModel model_;
  bool one_node_;
  bool same_group_ = false;
};

}  // namespace distsim::collectives
