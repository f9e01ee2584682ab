// GraphNetwork: what measured iterations taught about the error of composed ones, as a small network that passes messages
// over an iteration's ops.
//
//   h0(v)   = tanh(A x(v) + B g + a)                                 x: node facts, g: device facts, scaled to 0 +- 1
//   hl+1(v) = tanh(P h(v) + Q m(v) + R n(v) + p)                      l = 0, 1
//   m(v)    = sum over edges u -> v of weight * (hl(u), e)            e: the edge's log_bytes, scaled
//   n(v)    = the same over edges v -> u, each with the weight 1 / their number
//   y       = sum over v of share(v) * (c . h2(v) + d)                log of measured / composed time
//
// The correction is exp(y), one factor on the times of all kernels, limited to 1/1.35 .. 1.35. A part of a graph has a factor
// of its own in the same way. The device enters through the figures of its file alone, so that a what-if, which changes
// times and not those, keeps its factor: a faster device stays no slower.
// Outside of what it was trained on (the means of the facts over a graph's time, and the device's facts, by more than a
// tenth of their range) there is no correction.
//
// Training: least squares of y on log(measured / composed), Adam over all graphs at once, weight decay on all but the
// biases. The same examples, in any order of the file, and seed give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "opmodels/graph/graph_facts.hpp"

namespace distsim::opmodels {

struct GraphExample {
  GraphFacts facts;
  double log_ratio = 0;  ///< log(measured / composed)
};

struct GraphTraining {
  std::uint64_t seed = 1;
  int epochs = 120;
  double rate = 0.02;
  double decay = 0.03;  ///< of the squared weights
};

class GraphNetwork {
 public:
  static constexpr std::size_t kHidden = 8;
  static constexpr double kMostRatio = 1.35;

  /// Errors: fewer than kFewestExamples examples that have kernels.
  static Result<GraphNetwork> train(const std::vector<GraphExample>& examples, const GraphTraining& how);
  static constexpr std::size_t kFewestExamples = 8;

  struct Answer {
    double ratio = 1;     ///< of measured to composed time
    bool inside = false;  ///< of what it was trained on; else the ratio is 1
  };
  Answer ask(const GraphFacts& facts) const;

  std::size_t examples() const { return examples_; }
  /// Relative error that is left on its own examples: root mean square of log(measured / corrected).
  double residual() const { return residual_; }

  std::string text() const;
  static Result<GraphNetwork> parse(std::string_view text);

 private:
  struct Range {
    double low = 0, high = 0;
  };
  friend class GraphTrainer;
  std::vector<double> weights_;
  std::vector<Range> hull_;                     ///< of the means of node facts, then of device facts
  std::vector<double> node_mean_, node_scale_;  ///< of facts, over nodes
  std::vector<double> device_mean_, device_scale_;
  double edge_mean_ = 0, edge_scale_ = 1;
  std::size_t examples_ = 0;
  double residual_ = 0;
};

}  // namespace distsim::opmodels
