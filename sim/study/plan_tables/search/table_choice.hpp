// The choices that a table has, with their costs, and a plan as choices and places: what the search works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/workload/placement/table_plan.hpp"

namespace distsim::study {

/// Seconds that a shard costs its rank in an iteration.
struct ShardCost {
  double lookup = 0;    ///< forward, or for a copy the rank's own samples
  double update = 0;    ///< backward, with the optimizer
  double forward = 0;   ///< exchange of ids and pooled vectors
  double backward = 0;  ///< exchange of their gradients; of a copy: its part of the all-reduce
  double total() const { return lookup + update + forward + backward; }
  ShardCost& operator+=(const ShardCost& o);
};

/// Where the shards of a choice go: each to a rank of its own, each to all GPUs of a node of its own, or one to every
/// rank.
enum class Spread : std::uint8_t { ranks, nodes, everywhere };

/// What the ranks of a plan are compared by: the larger of two sums over their shards.
struct Load {
  double first = 0, second = 0;
  double level() const { return first > second ? first : second; }
  Load& operator+=(const Load& o) { return first += o.first, second += o.second, *this; }
  Load& operator-=(const Load& o) { return first -= o.first, second -= o.second, *this; }
  friend Load operator+(Load a, const Load& b) { return a += b; }
  friend Load operator-(Load a, const Load& b) { return a -= b; }
};

/// What a shard costs and takes of its rank.
struct ShardPrice {
  ShardCost cost;
  double seconds = 0;       ///< cost.total()
  Load load;                ///< seconds alone, or as in by_phases()
  std::int64_t memory = 0;  ///< rows, optimizer state, vectors to send, ids
};

/// One way to split a table. Its shards are equal (rows that do not divide differ by one), but for the last one of
/// column_wise and grid, which has the columns that are left.
struct TableChoice {
  workload::TableSharding sharding = workload::TableSharding::table_wise;
  Spread spread = Spread::ranks;
  std::uint32_t shards = 1;  ///< ranks, or nodes; 1 everywhere
  std::int64_t columns = 0;  ///< of a shard but the last
  ShardPrice each, last;     ///< of a rank that holds one; equal where the last one is like the others

  const ShardPrice& price(std::size_t shard) const { return shard + 1 == shards ? last : each; }
};

/// All tables with their choices, on `nodes` nodes of `gpus` GPUs with room for `memory` bytes each.
struct TableProblem {
  std::uint32_t nodes = 1, gpus = 1;
  std::int64_t memory = 0;
  std::vector<std::vector<TableChoice>> tables;

  std::uint32_t ranks() const { return nodes * gpus; }
  /// Ranks that hold a shard of the choice.
  std::uint32_t ranks_of(const TableChoice& c) const;
  /// Over all ranks.
  double work_of(const TableChoice& c) const {
    const std::uint32_t with_one = ranks_of(c) / c.shards;
    return with_one * ((c.shards - 1) * c.each.seconds + c.last.seconds);
  }
  double memory_of(const TableChoice& c) const {
    const double with_one = ranks_of(c) / c.shards;
    return with_one * ((c.shards - 1) * static_cast<double>(c.each.memory) + static_cast<double>(c.last.memory));
  }
};

/// The problem with loads for which a plan's level is its compute or its exchange, each over its mean times the mean of
/// both together: an iteration waits for the rank with the most lookups, and again for the one with the most to exchange.
/// `packing`: whose means are taken.
TableProblem by_phases(TableProblem problem, const struct Packing& packing);

/// Of every table its choice, and the ranks or nodes of its shards, in their order (none everywhere).
struct Packing {
  std::vector<std::uint32_t> choice;
  std::vector<std::vector<std::uint32_t>> places;
  double most = 0;  ///< level of the most loaded rank
};

/// Seconds and bytes of every rank.
struct RankLoads {
  std::vector<ShardCost> cost;
  std::vector<std::int64_t> memory;
  double most() const;
};
RankLoads loads_of(const TableProblem& problem, const Packing& packing);

}  // namespace distsim::study
