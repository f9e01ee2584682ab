// Whether the ranks of a job can have run together.
#pragma once

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// Steps of ranks that wait for each other, as they were marked, so many times apart are in two units. Chosen: what one
/// name marks on two ranks may differ, but is not a thousand times as long.
inline constexpr double kMostStepsApart = 100;

/// Ranks whose collectives contradict each other as well. Chosen: the steps of ranks that wait for each other are equally
/// long but for where each was marked.
inline constexpr double kStepsOfOneRun = 1.4;

/// Error: ranks that share collectives, whose median steps are more than kMostStepsApart times apart. REQUIRES: steps
/// found, collectives matched.
Result<void> check_agreement(const TraceJob& job);

/// No rank leaves a collective of all before the last has joined it. Where most of those that a rank shares ran when the same
/// ones did not on most of its other ranks, a note names the rank. Error: its median step is also more than kStepsOfOneRun
/// times that of the others, or they more than so many times its own. REQUIRES: clocks aligned.
Result<void> check_meetings(TraceJob& job);

}  // namespace distsim::traces
