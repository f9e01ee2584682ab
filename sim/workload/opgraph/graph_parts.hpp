// A captured graph cut into parts that run without anything between them.
#pragma once

#include <optional>
#include <vector>

#include "sim/workload/layers/layer.hpp"
#include "sim/workload/opgraph/checkpoints.hpp"
#include "sim/workload/opgraph/fusion.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"

namespace distsim::workload {

struct GraphPart {
  std::uint32_t begin = 0, end = 0;  ///< nodes
  bool forward = true;
  std::vector<std::uint32_t> complete;  ///< parameters whose gradients are complete after it, in their order
};

class GraphParts {
 public:
  /// A part ends after a node that `ends` says, where a gradient is complete, and where the phase changes.
  GraphParts(const GraphSpec& spec, const opgraph::OpGraph& graph, const Checkpoints& checkpoints,
             const std::vector<bool>& ends);

  /// The forward pass in its order, then all others in theirs.
  const std::vector<GraphPart>& parts() const { return parts_; }
  /// A layer for each part: its ops forward or backward, and as parameters those that are complete after it.
  std::vector<Layer> layers(std::int64_t samples, const LayerContext& context, GraphCoverage& coverage) const;

 private:
  const GraphSpec& spec_;
  const opgraph::OpGraph& graph_;
  const Checkpoints& checkpoints_;
  std::optional<PointwiseFusion> fusion_;
  std::vector<GraphPart> parts_;
  std::vector<bool> first_;  ///< of forward nodes: the first that are trained, whose input has no gradient
};

}  // namespace distsim::workload
