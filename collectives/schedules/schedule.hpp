// Schedules as data: who sends which chunk to whom in which step. A test replays them symbolically and proves that
// every rank ends with the right data.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::collectives {

/// One message. All messages of a step read what their senders held before the step.
struct Transfer {
  std::uint32_t from = 0, to = 0;
  std::uint32_t chunk = 0;  ///< index of the piece; all_to_all: from * ranks + destination
  std::uint32_t step = 0;
  std::int64_t bytes = 0;
  bool reduce = false;  ///< added to what the receiver holds; else it replaces it
};

/// rank = node * per_node + local.
struct Grid {
  std::uint32_t nodes = 1, per_node = 1;
  std::uint32_t ranks() const { return nodes * per_node; }
};

/// Bytes of chunk i when `bytes` are cut into `chunks` pieces that differ by at most one.
std::int64_t chunk_bytes(std::int64_t bytes, std::uint32_t chunks, std::uint32_t i);

// `bytes` is the size column of nccl-tests; ranks >= 1; any number, odd ones included.
/// n - 1 steps; rank r ends with the sum of chunk r.
std::vector<Transfer> ring_reduce_scatter(std::uint32_t ranks, std::int64_t bytes);
/// n - 1 steps; rank r starts with chunk r, all end with all chunks.
std::vector<Transfer> ring_all_gather(std::uint32_t ranks, std::int64_t bytes);
/// The two after one another: 2 (n - 1) steps, 2 (n - 1) / n * bytes sent by each rank.
std::vector<Transfer> ring_all_reduce(std::uint32_t ranks, std::int64_t bytes);
/// Around the ring from rank 0 on (broadcast), or towards rank 0 and adding up (reduce), in `ranks` chunks one behind
/// the other: 2 (n - 1) steps.
std::vector<Transfer> ring_chain(std::uint32_t ranks, std::int64_t bytes, bool reduce);
/// Up a binomial tree to rank 0 and down again: 2 ceil(log2 n) steps of the whole buffer (chunk 0).
std::vector<Transfer> tree_all_reduce(std::uint32_t ranks, std::int64_t bytes);
/// NCCL's double binary tree: chunk 0 up and down one tree, chunk 1 another. At most 2 (floor(log2 n) + 1) steps; each
/// half travels 2 (n - 1) edges, and no rank passes on more than two halves a step.
std::vector<Transfer> double_tree_all_reduce(std::uint32_t ranks, std::int64_t bytes);
/// n - 1 steps; in step s rank r sends to r + s its chunk for it.
std::vector<Transfer> pairwise_all_to_all(std::uint32_t ranks, std::int64_t bytes);

/// Recursive halving, then doubling, over the largest power of two p in ranks; the others hand their data to a partner
/// first and are told at the end. 2 log2 p steps (2 more where ranks is no power of two), 2 (p - 1) / p * bytes sent by
/// each of p = n ranks.
std::vector<Transfer> halving_doubling_all_reduce(std::uint32_t ranks, std::int64_t bytes);
/// ceil(log2 n) steps: a chunk that has o ranks to go travels the powers of two in o. Fewer messages than pairwise,
/// more bytes.
std::vector<Transfer> bruck_all_to_all(std::uint32_t ranks, std::int64_t bytes);

// Two levels.
/// Reduce-scatter inside the nodes, all_reduce along each rail, all_gather inside: 2 (per_node - 1) + 2 (nodes - 1)
/// steps, the bytes of a flat ring.
std::vector<Transfer> hierarchical_all_reduce(std::uint32_t nodes, std::uint32_t per_node, std::int64_t bytes);
/// Inside a node first to the GPU on the destination's rail, then along the rail: per_node - 1 + nodes - 1 steps, each
/// with one peer.
std::vector<Transfer> hierarchical_all_to_all(std::uint32_t nodes, std::uint32_t per_node, std::int64_t bytes);

}  // namespace distsim::collectives
