// Placement of embedding tables: which rank holds which rows and columns of which table. Ranks that hold identical
// slices share one ShardSet, so that a plan for 10,000 ranks stays as small as its number of distinct shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"
#include "sim/workload/specs/table_split.hpp"

namespace distsim::workload {

/// One table of the model, `count` expanded and defaults filled.
struct ModelTable {
  std::int64_t rows = 0, dim = 0;
  double pooling_factor = 1;  ///< ids per sample, over all features
  double alpha = 0;
  std::int64_t features = 1;  ///< vectors per sample
};

/// Of an optimizer, in fp32, beside a row of `dim` weights.
std::int64_t state_bytes_per_row(graph::EmbeddingOptimizer optimizer, std::int64_t dim);

enum class ShardKind : std::uint8_t { whole, rows, columns };

/// Where the partial sums of row slices meet; whole rows travel by `pairs`.
///   pairs       every rank sends its vectors (or partial sums) to each sample's rank: all-to-all
///   everywhere  all ranks hold rows: reduce-scatter over all
///   in_node     the GPUs of a node hold the rows: reduce-scatter within it, then all-to-all along the rails
enum class Meeting : std::uint8_t { pairs, everywhere, in_node };

/// What a rank holds of one table.
struct Shard {
  std::uint32_t table = 0;
  ShardKind kind = ShardKind::whole;
  std::int64_t rows = 0, dim = 0;
  double pooling_factor = 0;  ///< ids per sample in this slice
  Meeting meeting = Meeting::pairs;
  std::int64_t first_column = 0;  ///< of a row slice: tells those of one table apart that are split by columns too
  bool operator==(const Shard&) const = default;
};

/// All shards of one rank.
struct ShardSet {
  std::vector<Shard> shards;
  std::int64_t width = 0;  ///< elements of its pooled vectors per sample, partial sums included
  std::int64_t width_everywhere = 0, width_in_node = 0;  ///< of these, what meets so
  std::int64_t width_besides = 0;  ///< of these, what comes from no table: the output of a bottom MLP on this rank
  std::int64_t width_of_pairs() const { return width - width_everywhere - width_in_node; }
  double ids = 0;          ///< ids per sample
  std::int64_t bytes = 0;  ///< rows and their optimizer state
};

struct Placement {
  std::vector<ModelTable> tables;
  std::vector<ShardSet> sets;  ///< distinct; rank r holds sets[set_of_rank[r]]
  std::vector<std::uint32_t> set_of_rank;
  std::vector<std::uint32_t> replicated;  ///< tables that every rank holds whole and looks up for its own samples
  std::int64_t replicated_bytes = 0;      ///< their weights

  bool any_sharded() const;         ///< some rank holds a shard
  bool any_exchanged() const;       ///< some rank has vectors for samples of others
  bool any(Meeting meeting) const;  ///< some rank has vectors that meet so
  /// Elements of a sample from the GPUs of each node of `gpus_per_node`, row slices of one table on a node counted
  /// once; of all shards and what comes from no table, or of the shards that meet so.
  std::vector<std::int64_t> node_widths(std::uint32_t gpus_per_node, std::optional<Meeting> only = {}) const;
  /// The same, of the row slices alone.
  std::vector<std::int64_t> node_row_widths(std::uint32_t gpus_per_node) const;
  /// Pooled elements of a sample, of the tables that meet so: each vector once.
  std::int64_t whole_width(Meeting meeting) const;
  /// Elements of a sample that travel as pairs, partial sums each, beyond the vectors that they add up to.
  std::int64_t partial_width() const;
  std::string describe() const;  ///< for the report: one line per set of ranks
};

/// What the planner is told of the cluster.
struct PlacementBudget {
  std::uint32_t ranks = 1, nodes = 1;
  std::int64_t bytes_per_rank = 0;  ///< memory left for tables
  bool whole_nodes =
      false;  ///< planner: tables fall on nodes, and every GPU of the node holds an equal share of the rows
  /// Of a replicated table: weight, gradient, bucket and state of the dense optimizer; 0: its weights alone.
  std::int64_t bytes_per_replicated_parameter = 0;
};

std::vector<ModelTable> expand_tables(const DlrmSpec& spec);

/// "84.1 GB".
std::string gigabytes(std::int64_t bytes);

/// Memory of one row slice: weights and the sparse optimizer's state.
std::int64_t table_bytes(const DlrmSpec& spec, std::int64_t rows, std::int64_t dim);

/// By split.plans where there are any, else by split.sharding. The planner replicates tables under data_parallel_below, splits what is too large for a rank or
/// for its fair share, and places slices from the most to the least costly on the rank with the least cost that has
/// room. Deterministic. Errors: plans or placement of the wrong length or to a rank that does not exist; shards that do not add up; tables that do not fit
/// all ranks together.
Result<Placement> place_tables(const DlrmSpec& spec, const TableSplit& split, const PlacementBudget& budget);

}  // namespace distsim::workload
