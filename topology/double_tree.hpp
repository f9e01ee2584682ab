// The double binary tree of NCCL (Sanders, Speck and Traeff, 2009): two trees over the same nodes, each for half of the
// data; with an even number of nodes a node is an inner node in one of them only, so that both trees together load
// every node alike.
#pragma once

#include <cstdint>

namespace distsim::topology {

inline constexpr std::uint32_t kTreeRoot = 0xFFFFFFFFu;

/// Parent of `node` (of `nodes`) in tree 0 or 1; kTreeRoot for the root.
std::uint32_t double_tree_parent(std::uint32_t tree, std::uint32_t node, std::uint32_t nodes);

}  // namespace distsim::topology
