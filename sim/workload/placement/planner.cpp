#include "sim/workload/placement/planner.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace distsim::workload {
namespace {

constexpr std::uint32_t kNoTable = 0xFFFFFFFFu;
constexpr int kMostAttempts =
    4096;  // keeps planning short for thousands of tables on thousands of ranks; published plans take less than 20

/// So many tables are placed in all attempts together: seconds. Fewer than 5,000 tables get all attempts.
constexpr std::size_t kMostPlaced = 20'000'000;

int attempts_for(std::size_t tables) {
  return static_cast<int>(std::clamp<std::size_t>(kMostPlaced / (tables + 1), 1, kMostAttempts));
}

struct RankLoad {
  double load = 0;
  std::int64_t bytes_first = 0;  // breaks ties: bytes, or 0 with Balance::cost
  std::uint32_t turn = 0;        // and then the order in which ranks are filled
  std::int64_t bytes = 0;
  bool operator>(const RankLoad& o) const {
    return std::tie(load, bytes_first, turn) > std::tie(o.load, o.bytes_first, o.turn);
  }
};
using LightestFirst = std::priority_queue<RankLoad, std::vector<RankLoad>, std::greater<>>;

/// Ranks by load, remembering which table each took last (slices of one table are placed one after another).
class Ranks {
 public:
  explicit Ranks(const Planner& p)
      : limit_(p.bytes_per_rank),
        by_bytes_(p.balance != Balance::cost),
        per_node_(!by_bytes_ && p.ranks_per_node > 0 && p.ranks % p.ranks_per_node == 0 ? p.ranks_per_node : p.ranks),
        nodes_(p.ranks / per_node_),
        last_table_(p.ranks, kNoTable) {
    for (std::uint32_t turn = 0; turn < p.ranks; ++turn) queue_.push({0, 0, turn, 0});
  }
  struct Taken {
    std::uint32_t rank = 0;
    double load = 0;  ///< of the rank now
  };
  /// The rank that takes the slice, or nothing.
  std::optional<Taken> take(std::uint32_t table, std::int64_t bytes, double load) {
    std::vector<RankLoad> passed;
    std::optional<Taken> taken;
    while (!queue_.empty() && !taken) {
      const RankLoad top = queue_.top();
      queue_.pop();
      const std::uint32_t rank = rank_of(top.turn);
      const std::int64_t held = top.bytes + bytes;
      if (held <= limit_ && last_table_[rank] != table) {
        taken = Taken{rank, top.load + load};
        last_table_[rank] = table;
        passed.push_back({top.load + load, by_bytes_ ? held : 0, top.turn, held});
      } else {
        passed.push_back(top);
      }
    }
    for (const RankLoad& r : passed) queue_.push(r);
    return taken;
  }

 private:
  std::uint32_t rank_of(std::uint32_t turn) const { return turn % nodes_ * per_node_ + turn / nodes_; }

  std::int64_t limit_;
  bool by_bytes_;
  std::uint32_t per_node_, nodes_;
  LightestFirst queue_;
  std::vector<std::uint32_t> last_table_;
};

std::vector<std::uint32_t> largest_load_first(const Planner& planner, const std::vector<PlannerTable>& tables) {
  std::vector<std::uint32_t> order(tables.size());
  for (std::uint32_t t = 0; t < tables.size(); ++t) order[t] = t;
  if (planner.balance == Balance::cost) std::reverse(order.begin(), order.end());  // of equal ones the later table
  std::vector<double> loads(tables.size());
  for (std::uint32_t t = 0; t < tables.size(); ++t) loads[t] = planner.load_of(tables[t]);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return loads[a] > loads[b]; });
  return order;
}

/// Twice as many row pieces, or as many as ranks and rows allow; false where that is no more.
bool cut(PlannerTable& t, std::uint32_t ranks) {
  const std::int64_t pieces = std::min({2 * t.row_pieces, ranks / t.column_pieces, t.rows});
  if (pieces <= t.row_pieces) return false;
  t.row_pieces = pieces;
  return true;
}

/// Cuts every table whose `size` is the largest once more; false where one of them cannot be cut.
template <class Size>
bool cut_largest(std::vector<PlannerTable>& tables, std::uint32_t ranks, Size size) {
  double largest = 0;
  for (const PlannerTable& t : tables) largest = std::max(largest, size(t));
  for (PlannerTable& t : tables) {
    if (size(t) >= largest && !cut(t, ranks)) return false;
  }
  return true;
}

bool cut_largest_bytes(std::vector<PlannerTable>& tables, std::uint32_t ranks) {
  return cut_largest(tables, ranks, [](const PlannerTable& t) { return static_cast<double>(slice_bytes(t, 0)); });
}

/// Cutting adds exchanges, so that the mean load only grows: a plan at the mean is the best there is. Nor do slices of
/// less than half the fullest rank's load decide how full it is.
bool worth_cutting(const Planner& planner, const std::vector<PlannerTable>& tables, double fullest) {
  double total = 0, largest = 0;
  for (const PlannerTable& t : tables) {
    total += planner.load_of(t) * static_cast<double>(t.pieces());
    largest = std::max(largest, planner.load_of(t));
  }
  return total / planner.ranks < fullest && 2 * largest >= fullest;
}

std::vector<PlannerSlice> slices_in_order(const std::vector<PlannerTable>& tables) {
  std::vector<PlannerSlice> slices;
  for (std::uint32_t t = 0; t < tables.size(); ++t) {
    for (std::int64_t piece = 0; piece < tables[t].pieces(); ++piece) slices.push_back({t, piece, 0});
  }
  return slices;
}

/// The largest first, of equal ones the later table first.
std::vector<PlannerSlice> largest_slice_first(const std::vector<PlannerTable>& tables) {
  std::vector<PlannerSlice> slices;
  for (std::uint32_t t = static_cast<std::uint32_t>(tables.size()); t-- > 0;) {
    for (std::int64_t piece = 0; piece < tables[t].pieces(); ++piece) slices.push_back({t, piece, 0});
  }
  const auto bytes = [&](const PlannerSlice& s) { return slice_bytes(tables[s.table], s.piece); };
  std::stable_sort(slices.begin(), slices.end(), [&](const auto& a, const auto& b) { return bytes(a) > bytes(b); });
  return slices;
}

std::optional<Plan> plan_by_memory(const Planner& planner, std::vector<PlannerTable> tables) {
  const bool deals = planner.balance != Balance::memory_optimized;
  const auto attempt = [&] {
    auto dealt = deals ? planner.deal(tables) : std::nullopt;
    return dealt ? std::move(dealt) : planner.place(tables);
  };
  auto plan = attempt();
  while (!plan && cut_largest_bytes(tables, planner.ranks)) plan = attempt();
  return plan;
}

}  // namespace

double Planner::load_of(const PlannerTable& t) const {
  if (balance != Balance::cost) return static_cast<double>(slice_bytes(t, 0));
  return (t.ids / static_cast<double>(t.row_pieces) + exchange_ids) * static_cast<double>(t.dim) /
         static_cast<double>(t.column_pieces);
}

std::optional<Plan> Planner::deal(const std::vector<PlannerTable>& tables) const {
  const bool in_turn = balance == Balance::basic;
  Plan plan{tables, in_turn ? slices_in_order(tables) : largest_slice_first(tables), 0};
  std::vector<std::int64_t> held(ranks, 0);
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    PlannerSlice& slice = plan.slices[i];
    const auto position = static_cast<std::uint32_t>(i % ranks);
    slice.rank = in_turn || i / ranks % 2 == 0 ? position : ranks - 1 - position;
    held[slice.rank] += slice_bytes(tables[slice.table], slice.piece);
    if (held[slice.rank] > bytes_per_rank) return {};
    plan.fullest = std::max(plan.fullest, static_cast<double>(held[slice.rank]));
  }
  return plan;
}

std::int64_t column_limit_for(std::vector<std::int64_t> sizes, std::uint32_t ranks) {
  std::int64_t limit = 0;
  std::make_heap(sizes.begin(), sizes.end());
  while (!sizes.empty() && sizes.size() < ranks && sizes.front() > 1) {
    std::pop_heap(sizes.begin(), sizes.end());
    limit = sizes.back() - 1;
    sizes.back() /= 2;
    const std::int64_t half = sizes.back();
    std::push_heap(sizes.begin(), sizes.end());
    sizes.push_back(half);
    std::push_heap(sizes.begin(), sizes.end());
  }
  return limit;
}

std::optional<Plan> Planner::place(const std::vector<PlannerTable>& tables, std::uint32_t* misfit) const {
  Plan plan{tables, {}, 0};
  Ranks free(*this);
  for (const std::uint32_t t : largest_load_first(*this, tables)) {
    for (std::int64_t piece = 0; piece < tables[t].pieces(); ++piece) {
      const auto taken = free.take(t, slice_bytes(tables[t], piece), load_of(tables[t]));
      if (!taken) {
        if (misfit != nullptr) *misfit = t;
        return {};
      }
      plan.fullest = std::max(plan.fullest, taken->load);
      plan.slices.push_back({t, piece, taken->rank});
    }
  }
  return plan;
}

std::optional<Plan> Planner::plan(std::vector<PlannerTable> tables) const {
  if (balance != Balance::cost) return plan_by_memory(*this, std::move(tables));
  std::optional<Plan> best;
  for (int attempt = attempts_for(tables.size()); attempt > 0; --attempt) {
    std::uint32_t misfit = 0;
    auto candidate = place(tables, &misfit);
    if (!candidate) {  // where the misfit itself cannot be cut, smaller slices of the largest tables may leave it room
      if (cut(tables[misfit], ranks) || (!best && cut_largest_bytes(tables, ranks))) continue;
      return best;
    }
    if (!best || candidate->fullest < best->fullest * (1 - 1e-9)) best = std::move(candidate);
    if (!worth_cutting(*this, tables, best->fullest)) return best;
    if (!cut_largest(tables, ranks, [&](const PlannerTable& t) { return load_of(t); })) return best;
  }
  return best;
}

}  // namespace distsim::workload
