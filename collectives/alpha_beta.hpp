// Alpha-beta: closed forms of collectives on a DimensionNetwork without contention: the results of ASTRA-sim's
// congestion-unaware analytical back end.
//
// One dimension of n places, a chunk of S' = S / splits bytes, m = S' / n, B bytes/ns, h hops of latency a, endpoint
// delay e, memory bandwidth M. s(x) = floor(h a + x / B), r(x) = 3 floor(x / M) for a reduction (two reads and a
// write), both in ns:
//
//   ring              all_reduce 2(n-1) s(m) + (n-1) r(m); reduce_scatter (n-1)(s(m) + r(m)); all_gather (n-1) s(S');
//                     all_to_all n(n-1)/2 (s(m) + e)
//   direct            all_reduce 2 s(m) + r(m); reduce_scatter s(m) + r(m); all_gather s(S'); all_to_all s(m)
//   halvingDoubling   sum over k = 1 .. log2 n of s(S'/2^k), twice for all_reduce; and r(S'/2^k) for k = 2 .. log2 n
//   doubleBinaryTree  all_reduce 2 log2 n s(S') + (2 log2 n - 1) r(S'); every chunk but the first begins s(S') before the
//                     one before it has ended
//
// each with (steps + 1) e for its 2(n-1), n-1, 2, 1, 2 log2 n, log2 n steps. `active` chunks go through at once, so
// that ceil(splits / active) rounds follow each other. With several dimensions a chunk is scattered dimension by
// dimension, reduced in the last and gathered on the way back; each dimension works on `active` chunks at a time.
//
// Checked against runs of ASTRA-sim 2 (March 2026, NPU counts 8 to 4096): ring, direct, halving-doubling, tree and
// two-dimensional all-reduce, direct and ring all-to-all agree to all printed digits; reduce-scatter and all-gather
// follow from all-reduce.
#pragma once

#include "base/units.hpp"
#include "sim/graph/op.hpp"
#include "topology/shapes/dimension_network.hpp"

namespace distsim::collectives {

enum class AlphaBetaAlgorithm : std::uint8_t { ring, direct, halving_doubling, double_binary_tree };
Result<AlphaBetaAlgorithm> parse_alpha_beta_algorithm(
    std::string_view name);  ///< ring, oneRing, direct, direct8, halvingDoubling, ...

struct AlphaBetaOptions {
  /// By dimension; the last one also applies to all dimensions beyond the list.
  std::vector<AlphaBetaAlgorithm> all_reduce{AlphaBetaAlgorithm::ring}, all_gather{AlphaBetaAlgorithm::ring},
      reduce_scatter{AlphaBetaAlgorithm::ring}, all_to_all{AlphaBetaAlgorithm::direct};
  std::int64_t splits = 1;          ///< preferred-dataset-splits
  std::int64_t active = 1;          ///< active-chunks-per-dimension
  std::int64_t endpoint_delay = 0;  ///< ns a message
  double memory_bytes_per_ns = 0;   ///< local-mem-bw, GB/s of 10^9; 0: reductions take no time
};

/// `op.bytes` as in Collective. Errors: halving-doubling and trees of a count that is no power of two, which ASTRA-sim
/// does not finish.
Result<Duration> alpha_beta_time(const graph::Collective& op, const topology::DimensionNetwork& network,
                                 const AlphaBetaOptions& options);

/// One message: hops of all dimensions on the way, and the slowest of their bandwidths.
Duration alpha_beta_message(std::int64_t bytes, const topology::DimensionNetwork& network, std::uint32_t from,
                            std::uint32_t to);

}  // namespace distsim::collectives
