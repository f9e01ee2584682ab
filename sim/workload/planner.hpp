// The greedy planner of table placement, apart from models and files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace distsim {

/// A table to place, and how it is cut: row_pieces x column_pieces slices.
struct PlannerTable {
  std::int64_t rows = 0, dim = 0;
  double ids = 0;                    ///< lookups a sample
  std::int64_t bytes_per_row = 0;    ///< with optimizer state
  std::int64_t row_pieces = 1;
  std::int64_t column_pieces = 1;
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
  double fullest = 0;                ///< load of the most loaded rank
};

struct Planner {
  enum class Balance { cost, memory };

  std::uint32_t ranks = 1;
  std::int64_t bytes_per_rank = 0;
  Balance balance = Balance::cost;
  double exchange_ids = 1.75;        ///< what exchanging a pooled vector costs, in lookups of a vector of that width

  /// Load of one slice. cost: (ids / row pieces + exchange_ids) x dim / column pieces; memory: its bytes.
  double load_of(const PlannerTable& table) const;

  /// Balance::memory, after the strategy memory_balanced of NVIDIA's distributed-embeddings: slices sorted by bytes are dealt to the ranks back and
  /// forth (0 .. n-1, n-1 .. 0, ...), so that ranks get as many slices as each other and tables of like size fall on different ranks. Nothing where
  /// a rank would overflow or hold two slices of one table.
  std::optional<Plan> deal(const std::vector<PlannerTable>& tables) const;

  /// Balance::memory: dealt where that fits. Else the largest load first, each slice on the least loaded rank that has room and no slice of the same table (ties: fewer bytes, then the lower rank).
  /// Nothing where some slice finds no rank.
  std::optional<Plan> place(const std::vector<PlannerTable>& tables) const;

  /// Places the tables; while they do not fit, those with the largest slices are halved by rows. With Balance::cost the most loaded slices are then halved
  /// again and again while their lookups cost more than an exchange, and the plan with the lowest fullest rank wins (ties: fewer slices). Deterministic.
  std::optional<Plan> plan(std::vector<PlannerTable> tables) const;
};

/// Elements of piece `piece` when `extent` is split into `pieces`: the first ones get one more.
inline std::int64_t piece_of(std::int64_t extent, std::int64_t pieces, std::int64_t piece) {
  return extent / pieces + (piece < extent % pieces ? 1 : 0);
}

}  // namespace distsim
