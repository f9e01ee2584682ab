#include "opmodels/learned/forest.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.hpp"

namespace distsim::opmodels {
namespace {
constexpr std::size_t kSideBySide = 16;
constexpr std::uint32_t kChildMask = (1u << 24) - 1;
}  // namespace

void Forest::begin_tree() {
  CHECK(open_.empty()) << "a tree is still open";
  CHECK(nodes_.size() + 1 < kMaxNodes) << nodes_.size();
  roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  depth_.push_back(0);
  open_.push_back({roots_.back(), 0});
  nodes_.push_back({});
  leaf_.push_back(0);
}

std::uint32_t Forest::take_slot() {
  CHECK(!open_.empty()) << "no open tree";
  const std::uint32_t node = open_.back().node;
  open_.pop_back();
  return node;
}

void Forest::add_split(std::uint8_t feature, float threshold) {
  const auto depth = static_cast<std::uint32_t>(next_depth() + 1);
  CHECK(depth < 256) << depth;
  CHECK(nodes_.size() + 2 < kMaxNodes) << nodes_.size();
  const std::uint32_t node = take_slot();
  const auto left = static_cast<std::uint32_t>(nodes_.size());
  nodes_[node] = {threshold, std::uint32_t{feature} << 24 | left};
  nodes_.resize(nodes_.size() + 2);
  leaf_.resize(nodes_.size());
  open_.push_back({left + 1, depth});
  open_.push_back({left, depth});
  depth_.back() = std::max(depth_.back(), static_cast<std::uint8_t>(depth));
}

void Forest::add_leaf(float value) {
  const std::uint32_t node = take_slot();
  nodes_[node] = {std::numeric_limits<float>::infinity(), node};
  leaf_[node] = value;
}

double Forest::value(std::span<const float> features) const {
  const float* x = features.data();
  const Node* nodes = nodes_.data();
  const auto next = [&](std::uint32_t at) {
    const Node n = nodes[at];
    return (n.link & kChildMask) + static_cast<std::uint32_t>(x[n.link >> 24] >= n.threshold);
  };
  double sum = base_;
  std::size_t tree = 0;
  for (; tree + kSideBySide <= roots_.size(); tree += kSideBySide) {
    std::array<std::uint32_t, kSideBySide> at;
    std::copy_n(&roots_[tree], kSideBySide, at.begin());
    for (int steps = *std::max_element(&depth_[tree], &depth_[tree] + kSideBySide); steps > 0; --steps) {
#pragma GCC unroll 32
      for (std::uint32_t& node : at) node = next(node);
    }
    for (const std::uint32_t leaf : at) sum += leaf_[leaf];
  }
  for (; tree < roots_.size(); ++tree) {
    std::uint32_t at = roots_[tree];
    for (int steps = depth_[tree]; steps > 0; --steps) at = next(at);
    sum += leaf_[at];
  }
  return sum;
}

}  // namespace distsim::opmodels
