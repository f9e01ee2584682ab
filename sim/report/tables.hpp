// The tables of a report: time by op kind, and by collective.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim {

/// Sums over ranks, wide enough for 10^6 s on 4 x 10^9 ranks.
using WideTime = __int128;

/// sum / n, to nearest.
Duration mean_of(WideTime sum, std::uint32_t n);

/// Time of the last iteration's device steps by op kind, longest first. A task whose ranks run different variants counts as the kind of its first variant
/// that is not absent.
std::vector<OpKindTime> op_table(const Played& played, const SteadyState& state, const RankClasses& classes);

/// Collectives of the last iteration, longest first. exposed: sum over ranks for each step of `state.steps`.
std::vector<CollectiveTime> collective_table(const Played& played, const SteadyState& state, const RankClasses& classes, std::span<const WideTime> exposed);

/// A name with every run of digits replaced by '*': what equal collectives have in common.
std::string stem_of(std::string_view name);

/// Bus bandwidth of nccl-tests over algorithm bandwidth, for n ranks.
double busbw_factor(CollectiveKind kind, std::uint32_t n);

/// Ranks of the largest group.
std::uint32_t group_size_of(const Partition& partition);

}  // namespace distsim
