// The table of `distsim cost collective`: one row per size, in columns that external scripts read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/collective_models.hpp"

namespace distsim::collectives {

struct CostTableRequest {
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 8;      ///< members on each node, from its first GPU on
  std::span<const std::int64_t> bytes;  ///< size column of nccl-tests, for every kind
  bool header = true;
  bool side_by_side = false;  ///< the other GPUs of the nodes do the same in groups of their own, so NICs are shared
  bool explain = false;       ///< append explain() of each size after the table, as "# " comment lines
};

struct CostTableRow {
  std::int64_t bytes = 0;
  std::string error;  ///< why there are no figures; empty where there are
  graph::Cost cost;   ///< without its source, which belongs to the models
  std::string source;
  double algbw_GBps = 0, busbw_GBps = 0;  ///< 0 where nothing is moved: a barrier
};

struct CostTable {
  std::vector<CostTableRow> rows;
  std::string text;
  std::size_t unpriced = 0;    ///< rows without figures
  topology::GroupFacts facts;  ///< of the group
};

/// Header "kind,nodes,gpus,bytes,predicted_us,low_us,high_us,algbw_GBps,busbw_GBps,basis,source" and a line a size. A
/// size that cannot be priced keeps its place: empty figures, the reason as "error: ..." in `basis`. A barrier
/// has no bandwidth: empty. Error: a group that the topology does not hold.
Result<CostTable> collective_cost_table(const topology::Topology& topology, const CollectiveModels& models,
                                        const CostTableRequest& request);

}  // namespace distsim::collectives
