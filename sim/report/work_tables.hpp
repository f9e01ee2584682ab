// The tables of a report: time by op kind, and by collective.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/rank_sweep.hpp"
#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {

/// sum / n, to nearest.
Duration mean_of(WideTime sum, std::uint32_t n);

/// Time of the last iteration's device steps by op kind, longest first. A task whose ranks run different variants
/// counts as the kind of its first variant that is not absent. `sums` as of RankSweep, over all ranks.
std::vector<OpKindTime> op_table(const Played& played, const SteadyState& state, std::span<const StepSums> sums);

/// A row of the table of collectives, without its exposed time, and the steps of the last iteration that it sums.
struct CollectiveRow {
  CollectiveTime time;
  std::vector<StepId> steps;
};

/// Collectives of the last iteration, longest first.
std::vector<CollectiveRow> collective_rows(const Played& played, const SteadyState& state,
                                           std::span<const StepSums> sums);

/// A name with every run of digits replaced by '*': what equal collectives have in common.
std::string stem_of(std::string_view name);

/// The size column of nccl-tests of one of a collective's calls. An uneven exchange lasts as long as its busiest member sends
/// or receives: the size of the even one that moves as much.
std::int64_t even_size(const graph::Collective& collective, std::uint32_t members);

/// Ranks of the largest group.
std::uint32_t group_size_of(const graph::Partition& partition);

}  // namespace distsim::report
