// The double binary tree of NCCL (Sanders, Speck and Traeff, 2009): two trees over all ranks, each with half of the
// data; with an even number of ranks a rank is an inner node in one of them only, so that both trees together load
// every link alike.
#include <algorithm>

#include "base/check.hpp"
#include "collectives/schedules/schedule.hpp"

namespace distsim::collectives {

namespace {

constexpr std::uint32_t kRoot = 0xFFFFFFFFu;

/// Parent in the in-order binary tree rooted at 0: clear the lowest bit and set the next, or only clear it where that
/// rank does not exist.
std::uint32_t parent_in_first(std::uint32_t rank, std::uint32_t n) {
  if (rank == 0) return kRoot;
  const std::uint32_t low = rank & (~rank + 1), up = (rank ^ low) | (low << 1);
  return up < n ? up : rank ^ low;
}

/// The second tree is the first one mirrored (even numbers of ranks) or turned by one (odd ones).
std::uint32_t parent_in(std::uint32_t tree, std::uint32_t rank, std::uint32_t n) {
  if (tree == 0) return parent_in_first(rank, n);
  const bool even = n % 2 == 0;
  const std::uint32_t up = parent_in_first(even ? n - 1 - rank : (rank + n - 1) % n, n);
  return up == kRoot ? kRoot : even ? n - 1 - up : (up + 1) % n;
}

struct Tree {
  std::vector<std::uint32_t> parent, height, depth;  ///< height over the lowest leaf below, depth under the root
  std::uint32_t levels = 0;
};

Tree tree_of(std::uint32_t index, std::uint32_t n) {
  Tree t{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n, 0), std::vector<std::uint32_t>(n, 0), 0};
  for (std::uint32_t r = 0; r < n; ++r) t.parent[r] = parent_in(index, r, n);
  for (std::uint32_t r = 0; r < n; ++r) {
    std::uint32_t above = 0;
    for (std::uint32_t at = r; t.parent[at] != kRoot; at = t.parent[at]) {
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
      if (tree.parent[r] == kRoot) continue;
      out.push_back({r, tree.parent[r], chunk, tree.height[r], half, true});
      out.push_back({tree.parent[r], r, chunk, tree.levels + tree.depth[r] - 1, half, false});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
  return out;
}

}  // namespace distsim::collectives
