// Parts of place_tables: gathers the shards of ranks into distinct sets, and places by the planner.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/workload/placement/placement.hpp"

namespace distsim::workload {

/// Fills `sets` and `set_of_rank` of a placement, whose tables are known.
class SetCollector {
 public:
  SetCollector(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks) : placement_(placement), spec_(spec) {
    placement_.set_of_rank.assign(ranks, 0);
  }
  /// Ranks [first, last) hold `shards` each.
  void add(std::uint32_t first, std::uint32_t last, std::vector<Shard> shards);

 private:
  using Key = std::vector<std::tuple<std::uint32_t, int, std::int64_t, std::int64_t, double, int, std::int64_t>>;
  ShardSet make_set(std::vector<Shard> shards) const;

  Placement& placement_;
  const DlrmSpec& spec_;
  std::map<Key, std::uint32_t> index_;
};

/// From a list of shards for each rank that has any; the others hold none.
void collect(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks,
             const std::map<std::uint32_t, std::vector<Shard>>& shards_of_rank);

/// All of a table.
Shard whole(const std::vector<ModelTable>& tables, std::uint32_t table);

/// `rows` rows of a table with their share of its lookups.
Shard row_slice(const std::vector<ModelTable>& tables, std::uint32_t table, std::int64_t rows);

/// Every rank holds a copy of the table.
void replicate(Placement& placement, const DlrmSpec& spec, std::uint32_t table);

/// The same for the tables under the split's threshold (data_parallel_below, on several nodes
/// data_parallel_below_nodes). Returns the others.
std::vector<std::uint32_t> replicate_small(Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                                           const PlacementBudget& budget);

/// Errors, with the line of the plan: ranks outside, shards that do not add up, places that the sharding
/// does not have.
Result<void> place_by_plans(Placement& placement, const DlrmSpec& spec, const TablePlans& plans,
                            const PlacementBudget& budget);

/// Sharding::planner: replicates the tables under the split's threshold and places the others by its planner settings
/// (planner.hpp). With budget.whole_nodes slices fall on nodes, and every GPU of the node holds an equal share of the
/// slice's rows. Errors: tables that do not fit all ranks together.
Result<void> place_by_planner(Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                              const PlacementBudget& budget);

}  // namespace distsim::workload
