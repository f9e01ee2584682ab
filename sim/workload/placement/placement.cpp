#include "sim/workload/placement/placement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text/counted.hpp"
#include "sim/workload/placement/placement_sets.hpp"
#include "sim/workload/placement/planner.hpp"

namespace distsim::workload {

std::int64_t state_bytes_per_row(graph::EmbeddingOptimizer optimizer, std::int64_t dim) {
  switch (optimizer) {
    case graph::EmbeddingOptimizer::none:
      return 0;
    case graph::EmbeddingOptimizer::sgd:
      return 0;
    case graph::EmbeddingOptimizer::rowwise_adagrad:
      return 4;
    case graph::EmbeddingOptimizer::adagrad:
      return 4 * dim;
    case graph::EmbeddingOptimizer::adam:
      return 8 * dim;
  }
  return 0;
}

namespace {

/// The given tables split over all ranks, by rows or by columns. Ranks with equal pieces of every table form runs that
/// end where some table's remainder ends.
void split_everywhere(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks,
                      const std::vector<std::uint32_t>& tables, bool by_rows) {
  const auto extent = [&](const ModelTable& t) { return by_rows ? t.rows : t.dim; };
  std::set<std::uint32_t> ends{ranks};
  for (const std::uint32_t t : tables) {
    if (const std::int64_t rest = extent(placement.tables[t]) % ranks; rest != 0)
      ends.insert(static_cast<std::uint32_t>(rest));
  }
  SetCollector collector(placement, spec, ranks);
  std::uint32_t first = 0;
  for (const std::uint32_t end : ends) {
    std::vector<Shard> shards;
    for (const std::uint32_t t : tables) {
      const ModelTable& table = placement.tables[t];
      const std::int64_t size = piece_of(extent(table), ranks, first);
      if (size == 0) continue;
      shards.push_back(by_rows ? row_slice(placement.tables, t, size)
                               : Shard{.table = t,
                                       .kind = ShardKind::columns,
                                       .rows = table.rows,
                                       .dim = size,
                                       .pooling_factor = table.pooling_factor});
      if (by_rows) shards.back().meeting = Meeting::everywhere;
    }
    collector.add(first, end, std::move(shards));
    first = end;
  }
}

void place_on_rank_zero(Placement& placement, const DlrmSpec& spec) {
  std::vector<Shard> shards;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) shards.push_back(whole(placement.tables, t));
  collect(placement, spec, 1, {{0, std::move(shards)}});
}

/// Elements of a sample of each node's shards that `counts` takes, row slices of one table once.
template <class Counts>
std::vector<std::int64_t> widths_of_nodes(const Placement& p, std::uint32_t gpus_per_node, const Counts& counts) {
  std::vector<std::int64_t> widths;
  for (std::size_t first = 0; first < p.set_of_rank.size(); first += gpus_per_node) {
    std::set<std::pair<std::uint32_t, std::int64_t>> met;
    std::int64_t& width = widths.emplace_back(0);
    for (std::size_t r = first; r < std::min(first + gpus_per_node, p.set_of_rank.size()); ++r) {
      for (const Shard& s : p.sets[p.set_of_rank[r]].shards) {
        if (!counts(s)) continue;
        if (s.kind != ShardKind::rows || met.emplace(s.table, s.first_column).second)
          width += s.dim * p.tables[s.table].features;
      }
    }
  }
  return widths;
}

Result<void> place_by_list(Placement& placement, const DlrmSpec& spec, const std::vector<std::int64_t>& rank_of,
                           std::uint32_t ranks) {
  if (rank_of.size() != placement.tables.size()) {
    return Error{"parallel.placement: found " + counted(rank_of.size(), "rank") + ", expected one for each of the " +
                     counted(placement.tables.size(), "table"),
                 "", ""};
  }
  std::map<std::uint32_t, std::vector<Shard>> shards;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
    if (rank_of[t] < 0 || rank_of[t] >= ranks) {
      return Error{"parallel.placement[" + std::to_string(t) + "]: found rank " + std::to_string(rank_of[t]) +
                       ", expected 0 .. " + std::to_string(ranks - 1),
                   "", ""};
    }
    shards[static_cast<std::uint32_t>(rank_of[t])].push_back(whole(placement.tables, t));
  }
  collect(placement, spec, ranks, shards);
  return {};
}

}  // namespace

std::vector<ModelTable> expand_tables(const DlrmSpec& spec) {
  std::vector<ModelTable> tables;
  for (const TableSpec& t : spec.tables) {
    const ModelTable table{t.rows, t.dim > 0 ? t.dim : spec.embedding_dim, t.pooling_factor,
                           t.alpha >= 0 ? t.alpha : spec.index_skew, t.features};
    tables.insert(tables.end(), static_cast<std::size_t>(t.count), table);
  }
  return tables;
}

std::int64_t table_bytes(const DlrmSpec& spec, std::int64_t rows, std::int64_t dim) {
  return rows * (dim * graph::size_of(spec.embedding_dtype) + state_bytes_per_row(spec.embedding_optimizer, dim));
}

bool Placement::any_sharded() const {
  return std::any_of(sets.begin(), sets.end(), [](const ShardSet& s) { return !s.shards.empty(); });
}

bool Placement::any_exchanged() const {
  return std::any_of(sets.begin(), sets.end(), [](const ShardSet& s) { return s.width > 0; });
}

bool Placement::any(Meeting meeting) const {
  return std::any_of(sets.begin(), sets.end(), [&](const ShardSet& s) {
    if (meeting == Meeting::pairs) return s.width_of_pairs() > 0;
    return (meeting == Meeting::everywhere ? s.width_everywhere : s.width_in_node) > 0;
  });
}

std::vector<std::int64_t> Placement::node_widths(std::uint32_t gpus_per_node, std::optional<Meeting> only) const {
  std::vector<std::int64_t> widths =
      widths_of_nodes(*this, gpus_per_node, [&](const Shard& s) { return !only || s.meeting == *only; });
  for (std::size_t r = 0; r < set_of_rank.size() && !only; ++r)
    widths[r / gpus_per_node] += sets[set_of_rank[r]].width_besides;
  return widths;
}

std::vector<std::int64_t> Placement::node_row_widths(std::uint32_t gpus_per_node) const {
  return widths_of_nodes(*this, gpus_per_node, [](const Shard& s) { return s.kind == ShardKind::rows; });
}

std::int64_t Placement::whole_width(Meeting meeting) const {
  std::set<std::uint32_t> met;
  std::int64_t width = 0;
  for (const ShardSet& set : sets) {
    for (const Shard& s : set.shards) {
      if (s.meeting == meeting && met.insert(s.table).second) width += tables[s.table].dim * tables[s.table].features;
    }
  }
  return width;
}

std::int64_t Placement::partial_width() const {
  std::vector<std::int64_t> ranks_with(sets.size(), 0);
  for (const std::uint32_t set : set_of_rank) ++ranks_with[set];
  std::set<std::pair<std::uint32_t, std::int64_t>> met;
  std::int64_t width = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (const Shard& s : sets[i].shards) {
      if (s.meeting != Meeting::pairs || s.kind != ShardKind::rows) continue;
      const std::int64_t vectors = ranks_with[i] - (met.emplace(s.table, s.first_column).second ? 1 : 0);
      width += vectors * s.dim * tables[s.table].features;
    }
  }
  return width;
}

Result<Placement> place_tables(const DlrmSpec& spec, const TableSplit& split, const PlacementBudget& budget) {
  Placement placement;
  placement.tables = expand_tables(spec);
  if (!split.plans.tables.empty()) {
    TRY(place_by_plans(placement, spec, split.plans, budget));
    if (budget.ranks > 1) return placement;
  }
  if (budget.ranks == 1) {  // every kind of sharding comes to the same
    Placement alone;
    alone.tables = std::move(placement.tables);
    place_on_rank_zero(alone, spec);
    return alone;
  }
  switch (split.sharding) {
    case Sharding::row_wise:
      split_everywhere(placement, spec, budget.ranks, replicate_small(placement, spec, split, budget), true);
      return placement;
    case Sharding::column_wise:
      split_everywhere(placement, spec, budget.ranks, replicate_small(placement, spec, split, budget), false);
      return placement;
    case Sharding::data_parallel:
      for (std::uint32_t t = 0; t < placement.tables.size(); ++t) replicate(placement, spec, t);
      collect(placement, spec, budget.ranks, {});
      return placement;
    case Sharding::table_wise:
      if (split.placement.empty())
        return Error{"parallel.placement: missing, expected the rank of every table", "", "or sharding: planner"};
      TRY(place_by_list(placement, spec, split.placement, budget.ranks));
      return placement;
    case Sharding::planner:
      TRY(place_by_planner(placement, spec, split, budget));
      return placement;
  }
  CHECK(false) << "sharding " << static_cast<int>(split.sharding);
  return placement;
}

}  // namespace distsim::workload
