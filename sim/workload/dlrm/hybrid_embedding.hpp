// Hybrid embedding of one-hot tables, after HugeCTR's HybridSparseEmbedding: rows that are frequent in a batch are
// replicated on every rank, their summed gradients join the all-reduce of the dense gradients; all others are split by
// rows over the ranks and their vectors are exchanged one by one.
//
// A row with c expected appearances in the batch of N ranks costs 2 e / all_reduce_bw on every rank as a frequent one,
// and 2 c e / (N all_to_all_bw) as an infrequent one (e: bytes of a vector; forward and backward). It is frequent where
// the first is less:  c > N all_to_all_bw / all_reduce_bw. kAllToAllOverAllReduce is that ratio of bandwidths.
#pragma once

#include <cstdint>
#include <span>

#include "sim/workload/placement/placement.hpp"
#include "sim/workload/specs/framework_spec.hpp"

namespace distsim::workload {

struct HybridSplit {
  std::int64_t frequent_rows = 0;  ///< replicated rows, of the tables that are split so
  std::int64_t all_rows = 0;
  std::int64_t dim = 0;       ///< of every table
  double frequent_ids = 0;    ///< lookups per sample that hit them
  double frequent_alpha = 0;  ///< mean exponent of popularity of these lookups
  double infrequent_ids = 0;  ///< the others
};

/// Rows i of a table have popularity i^-alpha. Tables of one width, one lookup per sample each, at least one rank and
/// sample.
HybridSplit hybrid_split(std::span<const ModelTable> tables, std::int64_t batch, std::uint32_t ranks);

/// Whether the hybrid embedding can hold this model: one-hot tables of one width, plain SGD, tables left to the
/// planner.
bool hybrid_applies(const DlrmSpec& spec, const TableSplit& split, const FrameworkSpec& framework, std::uint32_t ranks);

}  // namespace distsim::workload
