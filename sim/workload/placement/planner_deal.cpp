// Dealing slices to ranks by their bytes alone.
#include <algorithm>

#include "sim/workload/placement/planner.hpp"

namespace distsim::workload {
namespace {

constexpr std::uint32_t kNoTable = 0xFFFFFFFFu;

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

}  // namespace

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

}  // namespace distsim::workload
