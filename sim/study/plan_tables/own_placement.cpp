#include "sim/study/plan_tables/own_placement.hpp"

#include <algorithm>
#include <vector>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/dlrm/dlrm_plan.hpp"

namespace distsim::study {
namespace {

using workload::ModelTable;
using workload::Placement;
using workload::Shard;
using workload::ShardKind;
using workload::TablePlan;
using workload::TableSharding;

std::vector<std::uint32_t> all_ranks(const Placement& placement) {
  std::vector<std::uint32_t> out(placement.set_of_rank.size());
  for (std::uint32_t r = 0; r < out.size(); ++r) out[r] = r;
  return out;
}

/// Of a table that ranks share: the slices by rank, each of one kind.
struct SharedTable {
  std::vector<std::uint32_t> ranks;
  std::vector<Shard> shards;

  bool one_kind() const {
    return std::ranges::all_of(shards, [&](const Shard& s) {
      return s.kind == shards.front().kind && s.first_column == shards.front().first_column;
    });
  }
  std::vector<std::int64_t> sizes(std::int64_t Shard::*side) const {
    std::vector<std::int64_t> out;
    for (const Shard& s : shards) out.push_back(s.*side);
    return out;
  }
};

SharedTable shards_of(const Placement& placement, std::uint32_t table) {
  SharedTable out;
  for (std::uint32_t r = 0; r < placement.set_of_rank.size(); ++r) {
    for (const Shard& s : placement.sets[placement.set_of_rank[r]].shards) {
      if (s.table == table) out.ranks.push_back(r), out.shards.push_back(s);
    }
  }
  return out;
}

std::optional<TablePlan> plan_of_table(const Placement& placement, std::uint32_t number) {
  const ModelTable& table = placement.tables[number];
  TablePlan out{TableSharding::data_parallel, {}, {table.rows}, {table.dim}, number + 2};
  if (std::ranges::find(placement.replicated, number) != placement.replicated.end()) {
    out.ranks = all_ranks(placement);
    return out;
  }
  SharedTable shared = shards_of(placement, number);
  const bool twice = std::ranges::adjacent_find(shared.ranks) != shared.ranks.end();
  if (shared.shards.empty() || twice || !shared.one_kind()) return std::nullopt;
  const Shard& first = shared.shards.front();
  out.ranks = shared.ranks;
  if (first.kind == ShardKind::whole) {
    out.sharding = TableSharding::table_wise;
    return out.ranks.size() == 1 ? std::optional(out) : std::nullopt;
  }
  if (first.kind == ShardKind::columns) {
    out.sharding = TableSharding::column_wise;
    out.columns = shared.sizes(&Shard::dim);
    return out;
  }
  out.sharding = TableSharding::row_wise;
  out.rows = shared.sizes(&Shard::rows);
  if (first.dim != table.dim) return std::nullopt;
  if (first.meeting != workload::Meeting::everywhere) return out;
  out.ranks = all_ranks(placement);  // those without rows take part
  out.rows.assign(out.ranks.size(), 0);
  for (std::size_t i = 0; i < shared.ranks.size(); ++i) out.rows[shared.ranks[i]] = shared.shards[i].rows;
  return out;
}

}  // namespace

std::optional<workload::TablePlans> own_placement(const config::Experiment& e) {
  if (!e.model.parallel.tables.plans.tables.empty()) return e.model.parallel.tables.plans;
  const workload::ClusterShape cluster = pipeline::shape_of(e);
  const auto samples = workload::plan_samples(e.model, cluster.ranks());
  if (!samples.ok()) return std::nullopt;
  const auto dlrm = workload::plan_dlrm(e.model, e.framework, cluster, *samples);
  if (!dlrm.ok() || dlrm->hybrid) return std::nullopt;
  workload::TablePlans out{"own", {}};
  for (std::uint32_t t = 0; t < dlrm->placement.tables.size(); ++t) {
    std::optional<TablePlan> plan = plan_of_table(dlrm->placement, t);
    if (!plan) return std::nullopt;
    out.tables.push_back(*std::move(plan));
  }
  return out;
}

}  // namespace distsim::study
