// The exchanges of a hybrid-parallel recommender, in exact bytes. Rank r owns tables that yield w_r bytes per sample;
// rank j has b_j samples, B in all. Forward, r sends b_j w_r to j:  send_r = (B - b_r) w_r,  recv_r = b_r (W - w_r);
// backward the other way round. Sums over ranks agree exactly.
#pragma once

#include <cstdint>

#include "sim/graph/op.hpp"
#include "sim/workload/placement/placement.hpp"
#include "sim/workload/specs/samples.hpp"

namespace distsim::workload {

enum class Direction : std::uint8_t { owners_to_samples, samples_to_owners };

/// Pooled vectors that travel as pairs (or their gradients) between owners and samples: all_to_all where all ranks own
/// and take alike, else all_to_all_v.
graph::Collective pooled_exchange(const Placement& placement, const SampleSplit& split, graph::DType dtype,
                                  Direction direction);

/// Of the tables split by rows over all ranks: partial sums meet in a reduce_scatter, gradients spread in an all_gather.
graph::Collective row_wise_exchange(const Placement& placement, const SampleSplit& split, graph::DType dtype,
                                    Direction direction);

/// Those of all shards in two steps, for several nodes of `gpus_per_node`: `inside`, over the GPUs of each node, brings the
/// vectors (partial sums of row slices) to the GPU on the rail of the sample's owner; `across`, over the GPUs of each
/// rail, brings the node's sums to the owner. Node n yields D_n elements per sample; with b samples on the largest rank
/// a GPU sends b (N - 1) D_n across and receives b (D - D_n). Backward the other way round.
struct RailExchange {
  graph::Collective inside, across;
};
RailExchange rail_exchange(const Placement& placement, const SampleSplit& split, std::uint32_t gpus_per_node,
                           graph::DType dtype, Direction direction);

/// Of the tables that the GPUs of a node share by rows: `inside`, over the GPUs of each node, a reduce_scatter of partial
/// sums for every sample (backward an all_gather), of the node with the widest vectors; `across` as above, of these
/// tables.
RailExchange node_rows_exchange(const Placement& placement, const SampleSplit& split, std::uint32_t gpus_per_node,
                                graph::DType dtype, Direction direction);

/// Every rank sends `bytes` in all, the same share to every rank.
graph::Collective uniform_exchange(std::int64_t bytes, graph::DType dtype);

/// Ids of the local samples to the tables' owners: `index_bytes` per id; row slices receive their share of a table's
/// ids, column slices all of them.
graph::Collective id_exchange(const Placement& placement, const SampleSplit& split, std::int64_t index_bytes);

}  // namespace distsim::workload
