// The units whose weights are gathered and whose gradients are reduced together where a graph's weights are split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/opgraph/checkpoints.hpp"

namespace distsim::workload {

struct ShardUnit {
  static constexpr std::uint32_t kNever = 0xFFFFFFFFu;
  std::string name;
  std::int64_t parameters = 0, tensors = 0;  ///< that are trained
  std::int64_t frozen = 0;                   ///< parameters that are not, which are gathered with them
  std::int64_t gathered() const { return parameters + frozen; }
  std::uint32_t forward = kNever;   ///< the first node of the forward pass that needs its weights
  std::uint32_t backward = kNever;  ///< the same of the backward pass
  std::uint32_t complete = kNever;  ///< after this node all its gradients are there
};

/// Modules that `patterns` name, in the order of the graph's labels; the last one has what is in none of them, or what
/// several read. A weight belongs to the unit whose forward calls read it, through views or not. Units without weights are
/// left out.
std::vector<ShardUnit> shard_units(const opgraph::OpGraph& graph, const std::vector<std::string>& patterns,
                                   const Checkpoints& checkpoints);

}  // namespace distsim::workload
