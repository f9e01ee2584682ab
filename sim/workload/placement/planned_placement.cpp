#include <algorithm>
#include <map>
#include <tuple>

#include "sim/workload/placement/placement_sets.hpp"
#include "sim/workload/placement/planner.hpp"

namespace distsim::workload {
namespace {

// What NVIDIA's planner weighs one byte of exchange against one of memory traffic (MEM_COMM_BW_RATIO, MLPerf Training
// v3.0 to v4.1): on DGX H100, 3.35 TB/s of a GPU's memory over 450 GB/s of NVLink and over the 50 GB/s of its NIC.
constexpr double kBandwidthRatioInNode = 7;
constexpr double kBandwidthRatioAcrossNodes = 67;

std::int64_t pieces_for(std::int64_t bytes, std::int64_t limit, std::int64_t most) {
  if (limit <= 0 || bytes <= limit) return 1;
  return std::min((bytes + limit - 1) / limit, most);
}

/// Halved until a slice is no larger than the limit, as distributed-embeddings does; its limit counts weights without
/// optimizer state.
std::int64_t column_pieces_for(std::int64_t bytes, std::int64_t limit, std::int64_t most) {
  if (limit <= 0) return 1;
  std::int64_t pieces = 1;
  while (bytes / pieces > limit && pieces < most) pieces *= 2;
  return std::min(pieces, most);
}

std::int64_t weight_bytes(const DlrmSpec& spec, const ModelTable& t) {
  return t.rows * t.dim * graph::size_of(spec.embedding_dtype);
}

/// Size of weights above which tables are cut by columns.
std::int64_t column_limit(const Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                          const std::vector<std::uint32_t>& sharded, const Planner& planner) {
  if (split.column_wise_above.value() > 0 || split.balance == Balance::cost) return split.column_wise_above.value();
  std::vector<std::int64_t> sizes;
  for (const std::uint32_t t : sharded) sizes.push_back(weight_bytes(spec, placement.tables[t]));
  return column_limit_for(std::move(sizes), planner.ranks);
}

/// As the thresholds cut it. What does not fit otherwise is cut at once where memory is balanced, and as the planner goes
/// with balance cost.
PlannerTable planner_table(const DlrmSpec& spec, const TableSplit& split, const ModelTable& t, const Planner& planner,
                           std::int64_t columns) {
  PlannerTable p{t.rows, t.dim, t.pooling_factor, table_bytes(spec, 1, t.dim), 1, 1};
  const std::int64_t bytes = table_bytes(spec, t.rows, t.dim), ranks = planner.ranks;
  p.column_pieces = column_pieces_for(weight_bytes(spec, t), columns, std::min(t.dim, ranks));
  std::int64_t limit = split.row_wise_above.value();
  if (planner.balance != Balance::cost)
    limit = limit > 0 ? std::min(limit, planner.bytes_per_rank) : planner.bytes_per_rank;
  p.row_pieces = pieces_for(bytes / p.column_pieces, limit, std::min(t.rows, ranks / p.column_pieces));
  return p;
}

Shard shard_of(const Placement& placement, std::uint32_t table, const PlannerTable& cut, std::int64_t piece) {
  Shard shard = whole(placement.tables, table);
  if (cut.row_pieces > 1)
    shard = row_slice(placement.tables, table, piece_of(cut.rows, cut.row_pieces, piece % cut.row_pieces));
  if (cut.column_pieces > 1) {
    const std::int64_t column = piece / cut.row_pieces;
    shard.dim = piece_of(cut.dim, cut.column_pieces, column);
    if (cut.row_pieces == 1) shard.kind = ShardKind::columns;
    for (std::int64_t c = 0; c < column && cut.row_pieces > 1; ++c)
      shard.first_column += piece_of(cut.dim, cut.column_pieces, c);
  }
  return shard;
}

/// Column slices of one table on one rank are looked up as one (sorted by table).
std::vector<Shard> merged(std::vector<Shard> shards, const std::vector<ModelTable>& tables) {
  std::sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) { return a.table < b.table; });
  std::vector<Shard> out;
  for (const Shard& s : shards) {
    const bool joins = !out.empty() && out.back().table == s.table && out.back().kind == ShardKind::columns &&
                       s.kind == ShardKind::columns;
    if (!joins) {
      out.push_back(s);
      continue;
    }
    out.back().dim += s.dim;
    if (out.back().dim == tables[s.table].dim) out.back().kind = ShardKind::whole;
  }
  return out;
}

/// The rows of a node's shard that its GPU `gpu` of `gpus` holds.
Shard share_of(Shard shard, std::uint32_t gpu, std::uint32_t gpus) {
  if (gpus == 1) return shard;
  const std::int64_t rows = piece_of(shard.rows, gpus, gpu);
  shard.pooling_factor *= static_cast<double>(rows) / static_cast<double>(shard.rows);
  shard.rows = rows;
  shard.kind = ShardKind::rows;
  return shard;
}

Error does_not_fit(const Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                   const PlacementBudget& budget) {
  if (budget.bytes_per_rank < 0) {
    return Error{"model: every rank needs " + gigabytes(-budget.bytes_per_rank) +
                     " more than its GPU has, for weights, activations and exchanged vectors, " + "before any tables",
                 "", "use a smaller batch, smaller layers or more GPUs"};
  }
  std::int64_t total = 0;
  for (const ModelTable& t : placement.tables) total += table_bytes(spec, t.rows, t.dim);
  const std::int64_t most = split.table_memory.value();
  const bool limited = most > 0 && most < budget.bytes_per_rank;
  return Error{
      "model.dlrm.tables: found " + gigabytes(total) + " of tables and optimizer state, expected tables that fit " +
          std::to_string(budget.ranks) + " ranks with " +
          (limited ? "table_memory " + gigabytes(most) + " each"
                   : gigabytes(budget.bytes_per_rank) + " free on each next to the rest of the model"),
      "",
      limited ? "raise parallel.table_memory, or use more nodes"
              : "use more nodes, GPUs with more memory, embedding_dtype: fp16, or an optimizer with less state"};
}

/// What replicated tables take on every rank.
std::int64_t bytes_of_replicated(const Placement& placement, const PlacementBudget& budget) {
  if (budget.bytes_per_replicated_parameter == 0) return placement.replicated_bytes;
  std::int64_t parameters = 0;
  for (const std::uint32_t t : placement.replicated) parameters += placement.tables[t].rows * placement.tables[t].dim;
  return parameters * budget.bytes_per_replicated_parameter;
}

/// `gpus` of a node own a slice together.
Planner planner_for(const TableSplit& split, const PlacementBudget& budget, std::uint32_t gpus,
                    std::int64_t replicated_bytes) {
  std::int64_t room = budget.bytes_per_rank - replicated_bytes;
  if (split.table_memory.value() > 0) room = std::min(room, split.table_memory.value());
  Planner planner{budget.ranks / gpus, room * gpus};
  planner.balance = split.balance;
  const double ratio = split.bandwidth_ratio > 0 ? split.bandwidth_ratio
                       : budget.nodes > 1        ? kBandwidthRatioAcrossNodes
                                                 : kBandwidthRatioInNode;
  planner.exchange_ids = ratio / split.work_ratio;
  if (gpus == 1 && budget.ranks % budget.nodes == 0) planner.ranks_per_node = budget.ranks / budget.nodes;
  return planner;
}

/// Of slices that weigh the same the planner takes the later one first: here that of the table with more ids per sample (which
/// is cut into more pieces), then with fewer rows, wherever it stands in the model. NVIDIA's sort is not stable; this order has
/// the loads of all its published plans (tests/workload/published_plans_test.cpp), largest tables first has not. distributed-embeddings sorts
/// by bytes alone and keeps the order of the model, which its published iterations show: it stays.
void sort_by_shape(std::vector<std::uint32_t>& numbers, const std::vector<ModelTable>& tables) {
  const auto shape = [&](std::uint32_t n) {
    const ModelTable& t = tables[n];
    return std::tuple(t.pooling_factor, -t.rows, t.dim, t.alpha, t.features);
  };
  std::stable_sort(numbers.begin(), numbers.end(), [&](auto a, auto b) { return shape(a) < shape(b); });
}

/// Cutting a table makes it no smaller: where all of them together are too large, there is nothing to try.
bool can_fit(const Planner& planner, const std::vector<PlannerTable>& tables) {
  double bytes = 0;
  for (const PlannerTable& t : tables) bytes += static_cast<double>(t.rows) * static_cast<double>(t.bytes_per_row);
  return bytes <= static_cast<double>(planner.bytes_per_rank) * planner.ranks;
}

}  // namespace

Result<void> place_by_planner(Placement& placement, const DlrmSpec& spec, const TableSplit& split,
                              const PlacementBudget& budget) {
  std::vector<std::uint32_t> sharded = replicate_small(placement, spec, split, budget);
  if (split.balance == Balance::cost) sort_by_shape(sharded, placement.tables);
  const std::uint32_t gpus = budget.whole_nodes ? budget.ranks / budget.nodes : 1;
  const Planner planner = planner_for(split, budget, gpus, bytes_of_replicated(placement, budget));
  std::vector<PlannerTable> tables;
  const std::int64_t columns = column_limit(placement, spec, split, sharded, planner);
  for (const std::uint32_t t : sharded)
    tables.push_back(planner_table(spec, split, placement.tables[t], planner, columns));
  const auto plan = can_fit(planner, tables) ? planner.plan(std::move(tables)) : std::nullopt;
  if (!plan) return does_not_fit(placement, spec, split, budget);
  std::map<std::uint32_t, std::vector<Shard>> shards;
  for (const PlannerSlice& s : plan->slices) {
    const Shard shard = shard_of(placement, sharded[s.table], plan->tables[s.table], s.piece);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (const Shard share = share_of(shard, g, gpus); share.rows > 0) shards[s.rank * gpus + g].push_back(share);
    }
  }
  for (auto& [rank, list] : shards) list = merged(std::move(list), placement.tables);
  collect(placement, spec, budget.ranks, shards);
  return {};
}

}  // namespace distsim::workload
