// Modules that are run forward again in the backward pass instead of keeping what is inside of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/opgraph/call.hpp"

namespace distsim::workload {

class Checkpoints {
 public:
  /// Names of modules as the graph's labels have them; "*" stands for one part: "blocks.*".
  Checkpoints(const opgraph::OpGraph& graph, const std::vector<std::string>& modules);

  /// Forward nodes to run again before this node of the backward pass: those of its module, where it is the first one.
  const std::vector<std::uint32_t>* before(std::uint32_t node) const;
  std::size_t modules() const { return count_; }
  /// Of each node, a number that those of one module share.
  const std::vector<std::uint32_t>& module_of_nodes() const { return module_of_; }
  /// Names that no module has.
  const std::vector<std::string>& unknown() const { return unknown_; }

  /// Largest sum of tensors that are needed at the same time, as live_bytes counts it: what is made inside of such a module
  /// and not read outside is gone after its forward pass, and is there again from its first node of the backward pass on.
  std::int64_t live_bytes(const opgraph::Sizes& sizes) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  const opgraph::OpGraph& graph_;
  std::vector<std::uint32_t> module_of_;  ///< of each node
  std::vector<std::vector<std::uint32_t>> forward_;
  std::vector<std::uint32_t> begin_backward_;
  std::map<std::uint32_t, std::uint32_t> first_;  ///< node of the backward pass to module
  std::size_t count_ = 0;
  std::vector<std::string> unknown_;
};

}  // namespace distsim::workload
