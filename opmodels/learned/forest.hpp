// Forest: a sum of regression trees over float features, made for being asked fast.
//
//   value(x) = base + sum over trees of the leaf that x falls into;   a split sends x to the left where x[feature] <
//   threshold
//
// Nodes are 8 bytes; a leaf is its own child, so 16 trees walk side by side for a fixed number of steps without a
// branch: while one waits for its node from an outer cache, the others go on. About a nanosecond a tree and four levels
// where the nodes are in the first caches. Pure: the same x gives the same bits (sums in tree order).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace distsim::opmodels {

class Forest {
 public:
  static constexpr std::size_t kMaxNodes = std::size_t{1} << 24;

  explicit Forest(double base) : base_(base) {}

  /// Starts a tree; nodes follow in preorder, left subtree first, until tree_complete().
  void begin_tree();
  void add_split(std::uint8_t feature, float threshold);
  void add_leaf(float value);
  bool tree_complete() const { return open_.empty(); }
  /// Splits from the root of the tree under construction to where the next node goes.
  std::size_t next_depth() const { return open_.empty() ? 0 : open_.back().depth; }

  double value(std::span<const float> features) const;
  std::size_t trees() const { return roots_.size(); }
  std::size_t nodes() const { return nodes_.size(); }

 private:
  struct Node {
    float threshold;     ///< infinite at a leaf
    std::uint32_t link;  ///< feature << 24 | left child; the right child follows the left one
  };
  struct Slot {
    std::uint32_t node;
    std::uint32_t depth;
  };
  std::uint32_t take_slot();

  double base_;
  std::vector<Node> nodes_;
  std::vector<float> leaf_;  ///< by node; 0 at splits
  std::vector<std::uint32_t> roots_;
  std::vector<std::uint8_t> depth_;  ///< by tree
  std::vector<Slot> open_;           ///< nodes still to be given, the next one last
};

}  // namespace distsim::opmodels
