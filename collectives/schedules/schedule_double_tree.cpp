// All_reduce over the double binary tree of topology/double_tree.hpp: half of the data up and down each tree.
#include <algorithm>

#include "base/check.hpp"
#include "collectives/schedules/schedule.hpp"
#include "topology/double_tree.hpp"

namespace distsim::collectives {

namespace {

using topology::kTreeRoot;

struct Tree {
  std::vector<std::uint32_t> parent, height, depth;  ///< height over the lowest leaf below, depth under the root
  std::uint32_t levels = 0;
};

Tree tree_of(std::uint32_t index, std::uint32_t n) {
  Tree t{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n, 0), std::vector<std::uint32_t>(n, 0), 0};
  for (std::uint32_t r = 0; r < n; ++r) t.parent[r] = topology::double_tree_parent(index, r, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    std::uint32_t above = 0;
    for (std::uint32_t at = r; t.parent[at] != kTreeRoot; at = t.parent[at]) {
      CHECK(above < n) << "the tree has a cycle";
      t.height[t.parent[at]] = std::max(t.height[t.parent[at]], ++above);
    }
    t.depth[r] = above;
    t.levels = std::max(t.levels, above);
  }
  return t;
}

}  // namespace

std::vector<Transfer> double_tree_all_reduce(std::uint32_t n, std::int64_t bytes) {
  CHECK(n >= 1);
  std::vector<Transfer> out;
  for (std::uint32_t chunk : {0u, 1u}) {
    const Tree tree = tree_of(chunk, n);
    const std::int64_t half = chunk_bytes(bytes, 2, chunk);
    for (std::uint32_t r = 0; r < n; ++r) {
      if (tree.parent[r] == kTreeRoot) continue;
      out.push_back({r, tree.parent[r], chunk, tree.height[r], half, true});
      out.push_back({tree.parent[r], r, chunk, tree.levels + tree.depth[r] - 1, half, false});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
  return out;
}

}  // namespace distsim::collectives
