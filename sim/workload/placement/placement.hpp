// Placement of embedding tables: which rank holds which rows and columns of which table. Ranks that hold identical
// slices share one ShardSet, so that a plan for 10,000 ranks stays as small as its number of distinct shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"

namespace distsim::workload {

/// One table of the model, `count` expanded and defaults filled.
struct ModelTable {
  std::int64_t rows = 0, dim = 0;
  double pooling_factor = 1;  ///< ids per sample, over all features
  double alpha = 0;
  std::int64_t features = 1;  ///< vectors per sample
};

enum class ShardKind : std::uint8_t { whole, rows, columns };

/// What a rank holds of one table.
struct Shard {
  std::uint32_t table = 0;
  ShardKind kind = ShardKind::whole;
  std::int64_t rows = 0, dim = 0;
  double pooling_factor = 0;  ///< ids per sample in this slice
  bool operator==(const Shard&) const = default;
};

/// All shards of one rank.
struct ShardSet {
  std::vector<Shard> shards;
  std::int64_t width = 0;  ///< elements of its pooled vectors per sample
  double ids = 0;          ///< ids per sample
  std::int64_t bytes = 0;  ///< rows and their optimizer state
};

struct Placement {
  std::vector<ModelTable> tables;
  std::vector<ShardSet> sets;  ///< distinct; rank r holds sets[set_of_rank[r]]
  std::vector<std::uint32_t> set_of_rank;
  std::vector<std::uint32_t> replicated;  ///< tables that every rank holds whole and looks up for its own samples
  std::int64_t replicated_bytes = 0;
  bool row_wise_everywhere =
      false;  ///< every sharded table is split by rows over all ranks: pooled vectors meet in a reduce_scatter

  bool any_sharded() const;  ///< some rank holds a shard
  /// Pooled elements of a sample from the GPUs of each node of `gpus_per_node`, row slices of one table on a node
  /// counted once.
  std::vector<std::int64_t> node_widths(std::uint32_t gpus_per_node) const;
  std::int64_t sharded_width() const;  ///< pooled elements of a sample, over all ranks; row slices count each
  std::string describe() const;        ///< for the report: one line per set of ranks
};

/// What the planner is told of the cluster.
struct PlacementBudget {
  std::uint32_t ranks = 1, nodes = 1;
  std::int64_t bytes_per_rank = 0;  ///< memory left for tables
  bool whole_nodes =
      false;  ///< planner: tables fall on nodes, and every GPU of the node holds an equal share of the rows
};

std::vector<ModelTable> expand_tables(const DlrmSpec& spec);

/// "84.1 GB".
std::string gigabytes(std::int64_t bytes);

/// Memory of one row slice: weights and the sparse optimizer's state.
std::int64_t table_bytes(const DlrmSpec& spec, std::int64_t rows, std::int64_t dim);

/// By spec.sharding. The planner replicates tables under data_parallel_below, splits what is too large for a rank or
/// for its fair share, and places slices from the most to the least costly on the rank with the least cost that has
/// room. Deterministic. Errors: placement of the wrong length or to a rank that does not exist; tables that do not fit
/// all ranks together.
Result<Placement> place_tables(const DlrmSpec& spec, const PlacementBudget& budget);

}  // namespace distsim::workload
