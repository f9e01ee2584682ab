#include "topology/double_tree.hpp"

namespace distsim::topology {
namespace {

/// Parent in the in-order binary tree rooted at 0: clear the lowest bit and set the next, or only clear it where that
/// node does not exist.
std::uint32_t parent_in_order(std::uint32_t node, std::uint32_t n) {
  if (node == 0) return kTreeRoot;
  const std::uint32_t low = node & (~node + 1), up = (node ^ low) | (low << 1);
  return up < n ? up : node ^ low;
}

}  // namespace

/// The second tree is the first one mirrored (even numbers of nodes) or turned by one (odd ones).
std::uint32_t double_tree_parent(std::uint32_t tree, std::uint32_t node, std::uint32_t n) {
  if (tree == 0) return parent_in_order(node, n);
  const bool even = n % 2 == 0;
  const std::uint32_t up = parent_in_order(even ? n - 1 - node : (node + n - 1) % n, n);
  return up == kTreeRoot ? kTreeRoot : even ? n - 1 - up : (up + 1) % n;
}

}  // namespace distsim::topology
