// Pointwise calls that a compiler makes one kernel of, as torch.compile does it.
#pragma once

#include <optional>
#include <vector>

#include "sim/opgraph/call.hpp"
#include "sim/workload/opgraph/graph_kernels.hpp"

namespace distsim::workload {

/// Runs of pointwise nodes that follow each other, each of which reads a result of the run or an argument of it, over
/// as many elements. The fused kernel reads what comes from outside and writes what is read outside. Nodes are not moved
/// past others, so that a compiler which does may fuse more.
class PointwiseFusion {
 public:
  /// Runs end where `module` of a node, a number for each, changes.
  PointwiseFusion(const opgraph::OpGraph& graph, const std::vector<std::uint32_t>& module);

  /// The node belongs to a run that has not ended: its kernels come with the last one.
  bool goes_on(std::uint32_t node) const { return run_of_[node] != kAlone && ends_[run_of_[node]] != node; }
  /// Nodes of the run that ends here; none where the node stands alone.
  std::vector<std::uint32_t> ending_at(std::uint32_t node) const;
  /// One kernel for `kernels`, those of the run that ends at `node`; their casts stay kernels of their own.
  std::vector<LayerOp> fused(std::uint32_t node, std::vector<LayerOp> kernels, const opgraph::Sizes& sizes) const;

 private:
  static constexpr std::uint32_t kAlone = 0xFFFFFFFFu;
  const opgraph::OpGraph& graph_;
  std::vector<std::uint32_t> run_of_, begins_, ends_;
  std::vector<std::uint32_t> last_reader_;  ///< of each tensor's storage, by tensor
};

}  // namespace distsim::workload
