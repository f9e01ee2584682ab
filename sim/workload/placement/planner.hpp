// The greedy planner for table placement, independent of models and files.
//
// Balance::cost follows the planner of NVIDIA's MLPerf submissions of DLRM-DCNv2 (v3.0 to v5.1), whose 37 published
// plans it reproduces (tests/workload/published_plans_test.cpp). Its rule was inferred from those plans:
//   1. a slice costs (lookups / row pieces + exchange_ids) x dim / column pieces;
//   2. slices go from the most to the least costly to the rank with the least cost that has room;
//   3. a table that finds no room is cut in twice as many pieces, and all are placed anew;
//   4. else the table whose slices are the most costly is cut in twice as many pieces (all those of equal cost at
//   once), and all are placed anew,
//      until that one cannot be cut further; the plan whose most loaded rank has the least wins, of equal ones the
//      first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace distsim::workload {

/// A table to place, and how it is cut: row_pieces x column_pieces slices.
struct PlannerTable {
  std::int64_t rows = 0, dim = 0;
  double ids = 0;                  ///< lookups per sample
  std::int64_t bytes_per_row = 0;  ///< with optimizer state
  std::int64_t row_pieces = 1;
  std::int64_t column_pieces = 1;
  std::int64_t pieces() const { return row_pieces * column_pieces; }
};

/// Slice `piece` of a table (row piece = piece mod row_pieces) on a rank.
struct PlannerSlice {
  std::uint32_t table = 0;
  std::int64_t piece = 0;
  std::uint32_t rank = 0;
  bool operator==(const PlannerSlice&) const = default;
};

struct Plan {
  std::vector<PlannerTable> tables;  ///< as cut in the end
  std::vector<PlannerSlice> slices;
  double fullest = 0;  ///< load of the most loaded rank
};

/// What is balanced over the ranks: lookups and exchange; or bytes or their number, by the strategies of these names of
/// NVIDIA's distributed-embeddings (dist_model_parallel.py, DistEmbeddingStrategy).
enum class Balance : std::uint8_t { cost, basic, memory_balanced, memory_optimized };

struct Planner {
  std::uint32_t ranks = 1;
  std::int64_t bytes_per_rank = 0;
  Balance balance = Balance::cost;
  double exchange_ids = 1.75;  ///< what exchanging a pooled vector costs, in lookups of a vector of that width
  std::uint32_t ranks_per_node =
      0;  ///< Balance::cost: of ranks with equal load the next one is on another node; 0: all on one node

  /// Load of one slice: its cost (rule 1), or its bytes.
  double load_of(const PlannerTable& table) const;

  /// basic: slices are dealt to the ranks in turn, in the order of the model. memory_balanced: sorted by bytes, they are
  /// dealt back and forth (0 .. n-1, n-1 .. 0, ...), so that ranks get as many slices as each other and tables of similar
  /// size fall on different ranks; where the turn at an end brings a rank two slices of one table, they are one. Nothing
  /// where a rank would overflow.
  std::optional<Plan> deal(const std::vector<PlannerTable>& tables) const;

  /// The largest load first, each slice on the least loaded rank that has room and no slice of the same table: by bytes
  /// that is the strategy memory_optimized. Equal loads: with Balance::cost the later table first and ranks by turns of
  /// the nodes; else the lower table and rank first. Nothing where some slice finds no rank; `misfit`, if asked for, is
  /// then its table.
  std::optional<Plan> place(const std::vector<PlannerTable>& tables, std::uint32_t* misfit = nullptr) const;

  /// Balance::cost: rules 1-4. Else dealt as the strategy says, or placed where that does not fit (distributed-embeddings
  /// would run out of memory); while that does not fit either, the tables with the largest slices are halved by rows.
  /// Nothing where no cut fits. Deterministic.
  std::optional<Plan> plan(std::vector<PlannerTable> tables) const;
};

/// distributed-embeddings' column_slice_threshold where there are fewer tables than ranks and none is given: the largest
/// size is halved until every rank has one. 0 where there are enough. Of `sizes`, in their unit.
std::int64_t column_limit_for(std::vector<std::int64_t> sizes, std::uint32_t ranks);

/// Elements of piece `piece` when `extent` is split into `pieces`: the first ones get one more.
inline std::int64_t piece_of(std::int64_t extent, std::int64_t pieces, std::int64_t piece) {
  return extent / pieces + (piece < extent % pieces ? 1 : 0);
}

/// Bytes of slice `piece` with its optimizer state.
inline std::int64_t slice_bytes(const PlannerTable& t, std::int64_t piece) {
  const std::int64_t width = (t.bytes_per_row + t.column_pieces - 1) / t.column_pieces;
  return piece_of(t.rows, t.row_pieces, piece % t.row_pieces) * width;
}

}  // namespace distsim::workload
