// Whether the ranks of a job can have run together.
#pragma once

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// Steps of ranks that wait for each other, as they were marked, so many times apart are in two units. Chosen: what one
/// name marks on two ranks may differ, but is not a thousand times as long.
inline constexpr double kMostStepsApart = 100;

/// Error: ranks that share collectives, whose median steps are more than kMostStepsApart times apart. REQUIRES: steps
/// found, collectives matched.
Result<void> check_agreement(const TraceJob& job);

}  // namespace distsim::traces
