// A placement from plans for every table: checked against the model and the cluster, then dealt to the ranks.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text/counted.hpp"
#include "sim/workload/placement/placement_sets.hpp"

namespace distsim::workload {
namespace {

bool splits_rows(TableSharding s) {
  return s == TableSharding::row_wise || s == TableSharding::table_row_wise || s == TableSharding::grid;
}
bool splits_columns(TableSharding s) { return s == TableSharding::column_wise || s == TableSharding::grid; }

/// Checks one table's plan and hands out its shards.
class Lister {
 public:
  Lister(const std::string& file, const ModelTable& table, std::uint32_t number, const TablePlan& plan,
         const PlacementBudget& budget)
      : file_(file),
        table_(table),
        number_(number),
        plan_(plan),
        ranks_(budget.ranks),
        per_node_(std::max(1u, budget.ranks / std::max(1u, budget.nodes))) {}

  Result<void> check() const {
    TRY(check_ranks());
    TRY(check_places());
    TRY(check_extent("rows", plan_.rows, rows_expected(), table_.rows));
    return check_extent("columns", plan_.columns, columns_expected(), table_.dim);
  }

  void deal(std::map<std::uint32_t, std::vector<Shard>>& shards) const {
    std::int64_t first_column = 0;
    for (std::size_t i = 0; i < plan_.ranks.size(); ++i) {
      const std::size_t column = plan_.columns.size() == 1 ? 0 : i / plan_.rows.size();
      if (i > 0 && plan_.columns.size() > 1 && i % plan_.rows.size() == 0) first_column += plan_.columns[column - 1];
      const std::int64_t rows = plan_.rows[i % plan_.rows.size()];
      if (rows == 0) continue;
      shards[plan_.ranks[i]].push_back(shard(rows, plan_.columns[column], first_column));
    }
  }

 private:
  Error refuse(std::string what, std::string hint = "") const {
    return Error{std::move(what), file_ + ":" + std::to_string(plan_.line), std::move(hint)};
  }
  std::string of_table() const {
    return std::string(word_of(plan_.sharding, table_sharding_words())) + " table " + std::to_string(number_);
  }

  Result<void> check_ranks() const {
    std::set<std::uint32_t> seen;
    for (const std::uint32_t rank : plan_.ranks) {
      if (rank >= ranks_)
        return refuse("ranks: found rank " + std::to_string(rank) + ", expected 0 .. " + std::to_string(ranks_ - 1));
      if (!seen.insert(rank).second)
        return refuse("ranks: found rank " + std::to_string(rank) + " twice, expected every rank once");
    }
    return {};
  }

  bool on_whole_nodes() const {
    if (plan_.ranks.size() % per_node_ != 0) return false;
    for (std::size_t i = 0; i < plan_.ranks.size(); ++i) {
      const std::uint32_t first = plan_.ranks[i / per_node_ * per_node_];
      if (first % per_node_ != 0 || plan_.ranks[i] != first + i % per_node_) return false;
    }
    return true;
  }

  Result<void> check_places() const {
    const std::size_t n = plan_.ranks.size();
    const auto found = [&] { return "ranks: found " + counted(n, "rank") + " for " + of_table() + ", expected "; };
    switch (plan_.sharding) {
      case TableSharding::table_wise:
        if (n != 1) return refuse(found() + "one");
        return {};
      case TableSharding::data_parallel:
        if (n != ranks_) return refuse(found() + "all " + std::to_string(ranks_));
        return {};
      case TableSharding::table_row_wise:
        if (n != per_node_ || !on_whole_nodes())
          return refuse(found() + "the " + counted(per_node_, "GPU") + " of one node, in order");
        return {};
      case TableSharding::grid:
        if (!on_whole_nodes())
          return refuse(found() + "all GPUs of each of its nodes, in order", "a node has " + counted(per_node_, "GPU"));
        return {};
      case TableSharding::column_wise:
      case TableSharding::row_wise:
        return {};
    }
    return {};
  }

  std::size_t rows_expected() const {
    if (!splits_rows(plan_.sharding)) return 1;
    return plan_.sharding == TableSharding::grid ? per_node_ : plan_.ranks.size();
  }
  std::size_t columns_expected() const {
    if (!splits_columns(plan_.sharding)) return 1;
    return plan_.sharding == TableSharding::grid ? plan_.ranks.size() / per_node_ : plan_.ranks.size();
  }

  Result<void> check_extent(const char* what, const std::vector<std::int64_t>& extents, std::size_t expected,
                            std::int64_t whole) const {
    const std::string key(what);
    if (extents.size() != expected)
      return refuse(key + ": found " + counted(extents.size(), "size") + " for " + of_table() + " on " +
                    counted(plan_.ranks.size(), "rank") + ", expected " + std::to_string(expected));
    std::int64_t sum = 0;
    for (const std::int64_t e : extents) {
      if (e == 0 && !splits_rows(plan_.sharding)) return refuse(key + ": found 0, expected at least 1");
      if (e > whole - sum)
        return refuse(key + ": found more than " + std::to_string(whole) + " in all, expected the " +
                      std::to_string(whole) + " of table " + std::to_string(number_));
      sum += e;
    }
    if (sum != whole)
      return refuse(key + ": found " + std::to_string(sum) + " in all, expected the " + std::to_string(whole) +
                    " of table " + std::to_string(number_));
    return {};
  }

  Meeting meeting() const {
    if (plan_.sharding == TableSharding::row_wise)
      return plan_.ranks.size() == ranks_ && ranks_ > 1 ? Meeting::everywhere : Meeting::pairs;
    if (!splits_rows(plan_.sharding) || per_node_ == 1) return Meeting::pairs;
    return per_node_ == ranks_ ? Meeting::everywhere : Meeting::in_node;
  }

  Shard shard(std::int64_t rows, std::int64_t columns, std::int64_t first_column) const {
    Shard s{number_, ShardKind::whole, rows, columns, table_.pooling_factor, meeting(), 0};
    if (rows < table_.rows) {
      s.kind = ShardKind::rows;
      s.pooling_factor *= static_cast<double>(rows) / static_cast<double>(table_.rows);
      s.first_column = first_column;
    } else if (columns < table_.dim) {
      s.kind = ShardKind::columns;
    }
    return s;
  }

  const std::string& file_;
  const ModelTable& table_;
  std::uint32_t number_;
  const TablePlan& plan_;
  std::uint32_t ranks_, per_node_;
};

}  // namespace

Result<void> place_by_plans(Placement& placement, const DlrmSpec& spec, const TablePlans& plans,
                            const PlacementBudget& budget) {
  if (plans.tables.size() != placement.tables.size())
    return Error{"table: found " + counted(plans.tables.size(), "table") + ", expected the model's " +
                     std::to_string(placement.tables.size()),
                 plans.name, ""};
  std::map<std::uint32_t, std::vector<Shard>> shards;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
    const Lister lister(plans.name, placement.tables[t], t, plans.tables[t], budget);
    TRY(lister.check());
    if (plans.tables[t].sharding == TableSharding::data_parallel)
      replicate(placement, spec, t);
    else
      lister.deal(shards);
  }
  collect(placement, spec, budget.ranks, shards);
  return {};
}

}  // namespace distsim::workload
