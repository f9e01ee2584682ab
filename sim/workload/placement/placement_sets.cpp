#include "sim/workload/placement/placement_sets.hpp"

#include <algorithm>

namespace distsim::workload {

void SetCollector::add(std::uint32_t first, std::uint32_t last, std::vector<Shard> shards) {
  Key key;
  for (const Shard& s : shards)
    key.emplace_back(s.table, static_cast<int>(s.kind), s.rows, s.dim, s.pooling_factor, static_cast<int>(s.meeting),
                     s.first_column);
  const auto [it, is_new] = index_.try_emplace(std::move(key), static_cast<std::uint32_t>(placement_.sets.size()));
  if (is_new) placement_.sets.push_back(make_set(std::move(shards)));
  std::fill(placement_.set_of_rank.begin() + first, placement_.set_of_rank.begin() + last, it->second);
}

ShardSet SetCollector::make_set(std::vector<Shard> shards) const {
  ShardSet set;
  for (const Shard& s : shards) {
    const std::int64_t width = s.dim * placement_.tables[s.table].features;
    set.width += width;
    if (s.meeting == Meeting::everywhere) set.width_everywhere += width;
    if (s.meeting == Meeting::in_node) set.width_in_node += width;
    set.ids += s.pooling_factor;
    set.bytes += table_bytes(spec_, s.rows, s.dim);
  }
  set.shards = std::move(shards);
  return set;
}

void collect(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks,
             const std::map<std::uint32_t, std::vector<Shard>>& shards_of_rank) {
  SetCollector collector(placement, spec, ranks);
  std::uint32_t next = 0;
  const auto fill_empty = [&](std::uint32_t end) {
    if (end > next) collector.add(next, end, {});
  };
  for (const auto& [rank, shards] : shards_of_rank) {
    fill_empty(rank);
    collector.add(rank, rank + 1, shards);
    next = rank + 1;
  }
  fill_empty(ranks);
}

Shard whole(const std::vector<ModelTable>& tables, std::uint32_t t) {
  return {.table = t, .rows = tables[t].rows, .dim = tables[t].dim, .pooling_factor = tables[t].pooling_factor};
}

Shard row_slice(const std::vector<ModelTable>& tables, std::uint32_t t, std::int64_t rows) {
  const double share = static_cast<double>(rows) / static_cast<double>(tables[t].rows);
  return {.table = t,
          .kind = ShardKind::rows,
          .rows = rows,
          .dim = tables[t].dim,
          .pooling_factor = tables[t].pooling_factor * share};
}

void replicate(Placement& placement, const DlrmSpec& spec, std::uint32_t table) {
  placement.replicated.push_back(table);
  // The dense optimizer updates it: there is no state of the sparse one.
  placement.replicated_bytes +=
      placement.tables[table].rows * placement.tables[table].dim * graph::size_of(spec.embedding_dtype);
}

std::vector<std::uint32_t> replicate_small(Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                                           const PlacementBudget& budget) {
  const std::int64_t several = split.data_parallel_below_nodes.value();
  const std::int64_t below = budget.nodes > 1 && several > 0 ? several : split.data_parallel_below.value();
  std::vector<std::uint32_t> others;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
    const ModelTable& table = placement.tables[t];
    if (table_bytes(spec, table.rows, table.dim) < below)
      replicate(placement, spec, t);
    else
      others.push_back(t);
  }
  return others;
}

}  // namespace distsim::workload
