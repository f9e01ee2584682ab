#include "sim/workload/placement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/quantity_text.hpp"
#include "sim/workload/planner.hpp"

namespace distsim {
namespace {

std::string gigabytes(std::int64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); }

std::int64_t element_bytes(const DlrmSpec& spec) { return spec.embedding_dtype == "fp32" ? 4 : 2; }

std::int64_t state_bytes_per_row(EmbeddingOptimizer optimizer, std::int64_t dim) {
  switch (optimizer) {
    case EmbeddingOptimizer::none: return 0;
    case EmbeddingOptimizer::sgd: return 0;
    case EmbeddingOptimizer::rowwise_adagrad: return 4;
    case EmbeddingOptimizer::adagrad: return 4 * dim;
    case EmbeddingOptimizer::adam: return 8 * dim;
  }
  return 0;
}

/// Gathers each rank's shards into distinct sets.
class SetCollector {
 public:
  SetCollector(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks) : placement_(placement), spec_(spec) {
    placement_.set_of_rank.assign(ranks, 0);
  }
  /// Ranks [first, last) hold `shards`.
  void add(std::uint32_t first, std::uint32_t last, std::vector<Shard> shards) {
    const auto key = key_of(shards);
    const auto [it, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(placement_.sets.size()));
    if (is_new) placement_.sets.push_back(make_set(std::move(shards)));
    std::fill(placement_.set_of_rank.begin() + first, placement_.set_of_rank.begin() + last, it->second);
  }

 private:
  using Key = std::vector<std::tuple<std::uint32_t, int, std::int64_t, std::int64_t, double>>;
  static Key key_of(const std::vector<Shard>& shards) {
    Key key;
    for (const Shard& s : shards) key.emplace_back(s.table, static_cast<int>(s.kind), s.rows, s.dim, s.pooling_factor);
    return key;
  }
  ShardSet make_set(std::vector<Shard> shards) const {
    ShardSet set;
    for (const Shard& s : shards) {
      set.width += s.dim * placement_.tables[s.table].features;
      set.ids += s.pooling_factor;
      set.bytes += table_bytes(spec_, s.rows, s.dim);
    }
    set.shards = std::move(shards);
    return set;
  }
  Placement& placement_;
  const DlrmSpec& spec_;
  std::map<Key, std::uint32_t> index_;
};

Shard row_slice(const std::vector<ModelTable>& tables, std::uint32_t t, std::int64_t rows) {
  const double share = static_cast<double>(rows) / static_cast<double>(tables[t].rows);
  return {t, ShardKind::rows, rows, tables[t].dim, tables[t].pooling_factor * share};
}

/// Tables split over all ranks, by rows or by columns. Ranks with equal pieces of every table form runs that end where some table's remainder ends.
void split_everywhere(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks, bool by_rows) {
  const auto extent = [&](const ModelTable& t) { return by_rows ? t.rows : t.dim; };
  std::set<std::uint32_t> ends{ranks};
  for (const ModelTable& t : placement.tables) {
    if (extent(t) % ranks != 0) ends.insert(static_cast<std::uint32_t>(extent(t) % ranks));
  }
  SetCollector collector(placement, spec, ranks);
  std::uint32_t first = 0;
  for (const std::uint32_t end : ends) {
    std::vector<Shard> shards;
    for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
      const ModelTable& table = placement.tables[t];
      const std::int64_t size = piece_of(extent(table), ranks, first);
      if (size == 0) continue;
      shards.push_back(by_rows ? row_slice(placement.tables, t, size) : Shard{t, ShardKind::columns, table.rows, size, table.pooling_factor});
    }
    collector.add(first, end, std::move(shards));
    first = end;
  }
}

/// From a list of shards for each rank that has any.
void collect(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks, const std::map<std::uint32_t, std::vector<Shard>>& shards_of_rank) {
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
  return {t, ShardKind::whole, tables[t].rows, tables[t].dim, tables[t].pooling_factor};
}

void place_on_rank_zero(Placement& placement, const DlrmSpec& spec) {
  std::vector<Shard> shards;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) shards.push_back(whole(placement.tables, t));
  collect(placement, spec, 1, {{0, std::move(shards)}});
}

Result<void> place_by_list(Placement& placement, const DlrmSpec& spec, std::uint32_t ranks) {
  if (spec.placement.size() != placement.tables.size()) {
    return Error{"model.dlrm.placement: found " + std::to_string(spec.placement.size()) + " ranks, expected one for each of the " +
                     std::to_string(placement.tables.size()) + " tables", "", ""};
  }
  std::map<std::uint32_t, std::vector<Shard>> shards;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
    if (spec.placement[t] < 0 || spec.placement[t] >= ranks) {
      return Error{"model.dlrm.placement[" + std::to_string(t) + "]: found rank " + std::to_string(spec.placement[t]) + ", expected 0 .. " +
                       std::to_string(ranks - 1), "", ""};
    }
    shards[static_cast<std::uint32_t>(spec.placement[t])].push_back(whole(placement.tables, t));
  }
  collect(placement, spec, ranks, shards);
  return {};
}

void replicate(Placement& placement, const DlrmSpec& spec, std::uint32_t table) {
  placement.replicated.push_back(table);
  placement.replicated_bytes += table_bytes(spec, placement.tables[table].rows, placement.tables[table].dim);
}

std::int64_t pieces_for(std::int64_t bytes, std::int64_t limit, std::int64_t most) {
  if (limit <= 0 || bytes <= limit) return 1;
  return std::min((bytes + limit - 1) / limit, most);
}

/// Halved until a slice is no larger than the limit, as distributed-embeddings does; its limit counts weights without optimizer state.
std::int64_t column_pieces_for(std::int64_t bytes, std::int64_t limit, std::int64_t most) {
  if (limit <= 0) return 1;
  std::int64_t pieces = 1;
  while (bytes / pieces > limit && pieces < most) pieces *= 2;
  return std::min(pieces, most);
}

PlannerTable planner_table(const DlrmSpec& spec, const ModelTable& t, std::int64_t room, std::uint32_t ranks) {
  PlannerTable p{t.rows, t.dim, t.pooling_factor, table_bytes(spec, 1, t.dim), 1, 1};
  const std::int64_t bytes = table_bytes(spec, t.rows, t.dim);
  p.column_pieces = column_pieces_for(t.rows * t.dim * element_bytes(spec), spec.column_wise_above.value(), std::min<std::int64_t>(t.dim, ranks));
  const std::int64_t limit = spec.row_wise_above.value() > 0 ? std::min(spec.row_wise_above.value(), room) : room;
  p.row_pieces = pieces_for(bytes / p.column_pieces, limit, std::min<std::int64_t>(t.rows, ranks / p.column_pieces));
  return p;
}

Shard shard_of(const Placement& placement, std::uint32_t table, const PlannerTable& cut, std::int64_t piece) {
  Shard shard = whole(placement.tables, table);
  if (cut.row_pieces > 1) shard = row_slice(placement.tables, table, piece_of(cut.rows, cut.row_pieces, piece % cut.row_pieces));
  if (cut.column_pieces > 1) {
    shard.dim = piece_of(cut.dim, cut.column_pieces, piece / cut.row_pieces);
    if (cut.row_pieces == 1) shard.kind = ShardKind::columns;
  }
  return shard;
}

std::string total_bytes(const Placement& placement, const DlrmSpec& spec) {
  std::int64_t total = 0;
  for (const ModelTable& t : placement.tables) total += table_bytes(spec, t.rows, t.dim);
  return gigabytes(total);
}

Error does_not_fit(const Placement& placement, const DlrmSpec& spec, const PlacementBudget& budget) {
  if (budget.bytes_per_rank < 0) {
    return Error{"model: every rank needs " + gigabytes(-budget.bytes_per_rank) + " more than its GPU has for weights, activations and exchanged vectors " +
                     "alone, before any table", "", "use a smaller batch, smaller layers or more GPUs"};
  }
  return Error{"model.dlrm.tables: found " + total_bytes(placement, spec) + " of tables and optimizer state, expected tables that fit " +
                   std::to_string(budget.ranks) + " ranks with " + gigabytes(budget.bytes_per_rank) +
                   " left on each beside the rest of the model", "",
               "use more nodes, GPUs with more memory, embedding_dtype: fp16, or an optimizer with less state"};
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

Planner planner_for(const DlrmSpec& spec, const PlacementBudget& budget, std::uint32_t owners, std::int64_t room) {
  Planner planner{owners, room};
  planner.balance = spec.balance == "memory" ? Planner::Balance::memory : Planner::Balance::cost;
  // NVIDIA's planner for DLRM-DCNv2 weighs memory against communication bandwidth 7 to 1 in one node and 67 to 1 over several (MLPerf Training v3.0,
  // MEM_COMM_BW_RATIO). Dividing by 4 is our estimate (fp32 read and written against fp16 sent), chosen with the 1 x 8 plan of v3.0 in view.
  planner.exchange_ids = (budget.nodes > 1 ? 67.0 : 7.0) / 4;
  return planner;
}

Result<void> place_by_planner(Placement& placement, const DlrmSpec& spec, const PlacementBudget& budget) {
  std::vector<std::uint32_t> sharded;
  for (std::uint32_t t = 0; t < placement.tables.size(); ++t) {
    const ModelTable& table = placement.tables[t];
    if (table_bytes(spec, table.rows, table.dim) < spec.data_parallel_below.value()) replicate(placement, spec, t);
    else sharded.push_back(t);
  }
  const std::uint32_t gpus = budget.whole_nodes ? budget.ranks / budget.nodes : 1;  // that own a slice together
  const std::uint32_t owners = budget.ranks / gpus;
  const std::int64_t room = (budget.bytes_per_rank - placement.replicated_bytes) * gpus;
  std::vector<PlannerTable> tables;
  for (const std::uint32_t t : sharded) tables.push_back(planner_table(spec, placement.tables[t], room, owners));
  const auto plan = planner_for(spec, budget, owners, room).plan(std::move(tables));
  if (!plan) return does_not_fit(placement, spec, budget);
  std::map<std::uint32_t, std::vector<Shard>> shards;
  for (const PlannerSlice& s : plan->slices) {
    const Shard shard = shard_of(placement, sharded[s.table], plan->tables[s.table], s.piece);
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (const Shard share = share_of(shard, g, gpus); share.rows > 0) shards[s.rank * gpus + g].push_back(share);
    }
  }
  for (auto& [rank, list] : shards) std::sort(list.begin(), list.end(), [](const Shard& a, const Shard& b) { return a.table < b.table; });
  collect(placement, spec, budget.ranks, shards);
  return {};
}

std::string text_of(const Shard& s) {
  const std::string table = "table " + std::to_string(s.table);
  switch (s.kind) {
    case ShardKind::whole: return table;
    case ShardKind::rows: return table + " (" + std::to_string(s.rows) + " rows)";
    case ShardKind::columns: return table + " (" + std::to_string(s.dim) + " columns)";
  }
  return table;
}

std::string text_of(const ShardSet& set) {
  if (set.shards.empty()) return "no tables";
  std::string out;
  for (const Shard& s : set.shards) out += (out.empty() ? "" : ", ") + text_of(s);
  return out + ": " + gigabytes(set.bytes) + ", " + format_quantity(set.ids, Dimension::none) + (set.ids == 1 ? " lookup a sample" : " lookups a sample");
}

}  // namespace

std::vector<ModelTable> expand_tables(const DlrmSpec& spec) {
  std::vector<ModelTable> tables;
  for (const TableSpec& t : spec.tables) {
    const ModelTable table{t.rows, t.dim > 0 ? t.dim : spec.embedding_dim, t.pooling_factor, t.alpha >= 0 ? t.alpha : spec.index_skew, t.features};
    tables.insert(tables.end(), static_cast<std::size_t>(t.count), table);
  }
  return tables;
}

std::int64_t table_bytes(const DlrmSpec& spec, std::int64_t rows, std::int64_t dim) {
  return rows * (dim * element_bytes(spec) + state_bytes_per_row(spec.embedding_optimizer, dim));
}

bool Placement::any_sharded() const {
  return std::any_of(sets.begin(), sets.end(), [](const ShardSet& s) { return !s.shards.empty(); });
}

std::vector<std::int64_t> Placement::node_widths(std::uint32_t gpus_per_node) const {
  std::vector<std::int64_t> widths;
  for (std::size_t first = 0; first < set_of_rank.size(); first += gpus_per_node) {
    std::set<std::uint32_t> met;
    std::int64_t& width = widths.emplace_back(0);
    for (std::size_t r = first; r < std::min(first + gpus_per_node, set_of_rank.size()); ++r) {
      for (const Shard& s : sets[set_of_rank[r]].shards) {
        if (s.kind != ShardKind::rows || met.insert(s.table).second) width += s.dim * tables[s.table].features;
      }
    }
  }
  return widths;
}

std::int64_t Placement::sharded_width() const {
  std::int64_t sum = 0;
  for (const std::uint32_t set : set_of_rank) sum += sets[set].width;
  return sum;
}

std::string Placement::describe() const {
  std::string out;
  for (std::uint32_t first = 0, rank = 0; rank < set_of_rank.size(); first = rank) {
    while (rank < set_of_rank.size() && set_of_rank[rank] == set_of_rank[first]) ++rank;
    out += (rank - first == 1 ? "rank " + std::to_string(first) : "ranks " + std::to_string(first) + "-" + std::to_string(rank - 1)) + ": " +
           text_of(sets[set_of_rank[first]]) + "\n";
  }
  if (replicated.empty()) return out;
  std::string list;
  for (const std::uint32_t t : replicated) list += (list.empty() ? "" : ", ") + std::to_string(t);
  return out + "every rank: tables " + list + " (" + gigabytes(replicated_bytes) + ")\n";
}

Result<Placement> place_tables(const DlrmSpec& spec, const PlacementBudget& budget) {
  Placement placement;
  placement.tables = expand_tables(spec);
  if (budget.ranks == 1) {  // every kind of sharding comes to the same
    place_on_rank_zero(placement, spec);
    return placement;
  }
  switch (spec.sharding) {
    case Sharding::row_wise:
      split_everywhere(placement, spec, budget.ranks, true);
      placement.row_wise_everywhere = true;
      return placement;
    case Sharding::column_wise: split_everywhere(placement, spec, budget.ranks, false); return placement;
    case Sharding::data_parallel:
      for (std::uint32_t t = 0; t < placement.tables.size(); ++t) replicate(placement, spec, t);
      collect(placement, spec, budget.ranks, {});
      return placement;
    case Sharding::table_wise:
      if (spec.placement.empty()) return Error{"model.dlrm.placement: missing, expected the rank of every table", "", "or sharding: planner"};
      TRY(place_by_list(placement, spec, budget.ranks));
      return placement;
    case Sharding::planner: TRY(place_by_planner(placement, spec, budget)); return placement;
  }
  CHECK(false) << "sharding " << static_cast<int>(spec.sharding);
  return placement;
}

}  // namespace distsim
