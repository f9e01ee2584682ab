#include "sim/workload/planner.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace distsim {
namespace {

struct RankLoad {
  double load = 0;
  std::int64_t bytes = 0;
  std::uint32_t rank = 0;
  bool operator>(const RankLoad& o) const { return std::tie(load, bytes, rank) > std::tie(o.load, o.bytes, o.rank); }
};
using LightestFirst = std::priority_queue<RankLoad, std::vector<RankLoad>, std::greater<>>;

constexpr std::uint32_t kNoTable = 0xFFFFFFFFu;

std::int64_t slice_bytes(const PlannerTable& t, std::int64_t piece) {
  const std::int64_t width = (t.bytes_per_row + t.column_pieces - 1) / t.column_pieces;
  return piece_of(t.rows, t.row_pieces, piece % t.row_pieces) * width;
}

std::vector<std::uint32_t> largest_load_first(const Planner& planner, const std::vector<PlannerTable>& tables) {
  std::vector<std::uint32_t> order(tables.size());
  for (std::uint32_t t = 0; t < tables.size(); ++t) order[t] = t;
  const auto key = [&](std::uint32_t t) { return std::make_tuple(planner.load_of(tables[t]), slice_bytes(tables[t], 0)); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
  return order;
}

/// Slices in the order in which NVIDIA's distributed-embeddings deals them: the largest first, of equal ones the later table first.
std::vector<PlannerSlice> largest_slice_first(const std::vector<PlannerTable>& tables) {
  std::vector<PlannerSlice> slices;
  for (std::uint32_t t = static_cast<std::uint32_t>(tables.size()); t-- > 0;) {
    for (std::int64_t piece = 0; piece < tables[t].row_pieces * tables[t].column_pieces; ++piece) slices.push_back({t, piece, 0});
  }
  const auto bytes = [&](const PlannerSlice& s) { return slice_bytes(tables[s.table], s.piece); };
  std::stable_sort(slices.begin(), slices.end(), [&](const auto& a, const auto& b) { return bytes(a) > bytes(b); });
  return slices;
}

/// Ranks by load, remembering which table each took last (slices of one table are placed one after another).
class Ranks {
 public:
  Ranks(std::uint32_t ranks, std::int64_t bytes_per_rank) : limit_(bytes_per_rank), last_table_(ranks, kNoTable) {
    for (std::uint32_t r = 0; r < ranks; ++r) queue_.push({0, 0, r});
  }
  /// The rank that takes the slice, or nothing.
  std::optional<RankLoad> take(std::uint32_t table, std::int64_t bytes, double load) {
    std::vector<RankLoad> passed;
    std::optional<RankLoad> found;
    while (!queue_.empty() && !found) {
      const RankLoad top = queue_.top();
      queue_.pop();
      if (top.bytes + bytes <= limit_ && last_table_[top.rank] != table) found = RankLoad{top.load + load, top.bytes + bytes, top.rank};
      else passed.push_back(top);
    }
    for (const RankLoad& r : passed) queue_.push(r);
    if (found) {
      queue_.push(*found);
      last_table_[found->rank] = table;
    }
    return found;
  }

 private:
  std::int64_t limit_;
  LightestFirst queue_;
  std::vector<std::uint32_t> last_table_;
};

/// Cuts every table whose `size` is the largest once more; false where one of them cannot be cut.
template <class Size>
bool halve_largest(std::vector<PlannerTable>& tables, std::uint32_t ranks, Size size) {
  double largest = 0;
  for (const PlannerTable& t : tables) largest = std::max(largest, size(t));
  for (PlannerTable& t : tables) {
    if (size(t) < largest) continue;
    if (2 * t.row_pieces * t.column_pieces > ranks || 2 * t.row_pieces > t.rows) return false;
    t.row_pieces *= 2;
  }
  return true;
}

}  // namespace

double Planner::load_of(const PlannerTable& t) const {
  if (balance == Balance::memory) return static_cast<double>(slice_bytes(t, 0));
  return (t.ids / static_cast<double>(t.row_pieces) + exchange_ids) * static_cast<double>(t.dim) / static_cast<double>(t.column_pieces);
}

std::optional<Plan> Planner::deal(const std::vector<PlannerTable>& tables) const {
  Plan plan{tables, largest_slice_first(tables), 0};
  std::vector<std::int64_t> held(ranks, 0);
  std::vector<std::uint32_t> last_table(ranks, kNoTable);
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    PlannerSlice& slice = plan.slices[i];
    const auto position = static_cast<std::uint32_t>(i % ranks);
    slice.rank = i / ranks % 2 == 0 ? position : ranks - 1 - position;
    held[slice.rank] += slice_bytes(tables[slice.table], slice.piece);
    if (held[slice.rank] > bytes_per_rank || last_table[slice.rank] == slice.table) return {};
    last_table[slice.rank] = slice.table;
    plan.fullest = std::max(plan.fullest, static_cast<double>(held[slice.rank]));
  }
  return plan;
}

std::optional<Plan> Planner::place(const std::vector<PlannerTable>& tables) const {
  if (balance == Balance::memory) {
    if (auto dealt = deal(tables)) return dealt;
  }
  Plan plan{tables, {}, 0};
  Ranks free(ranks, bytes_per_rank);
  for (const std::uint32_t t : largest_load_first(*this, tables)) {
    for (std::int64_t piece = 0; piece < tables[t].row_pieces * tables[t].column_pieces; ++piece) {
      const auto rank = free.take(t, slice_bytes(tables[t], piece), load_of(tables[t]));
      if (!rank) return {};
      plan.fullest = std::max(plan.fullest, rank->load);
      plan.slices.push_back({t, piece, rank->rank});
    }
  }
  return plan;
}

std::optional<Plan> Planner::plan(std::vector<PlannerTable> tables) const {
  std::optional<Plan> best = place(tables);
  while (!best && halve_largest(tables, ranks, [](const PlannerTable& t) { return static_cast<double>(slice_bytes(t, 0)); })) best = place(tables);
  if (!best || balance == Balance::memory) return best;
  const auto load = [&](const PlannerTable& t) { return t.ids / static_cast<double>(t.row_pieces) > exchange_ids ? load_of(t) : 0; };
  const auto worth_cutting = [&] { return std::any_of(tables.begin(), tables.end(), [&](const auto& t) { return 2 * load(t) >= best->fullest; }); };
  while (worth_cutting() && halve_largest(tables, ranks, load)) {
    auto candidate = place(tables);
    if (candidate && candidate->fullest < best->fullest * (1 - 1e-9)) best = std::move(candidate);
  }
  return best;
}

}  // namespace distsim
