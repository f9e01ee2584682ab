// Steps of one rank: busy, compute, communication, exposed, idle, and the gaps.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim {

/// Fills steps, steps_marked and whole.
void profile_steps(const TraceRank& rank, RankProfile& out);

}  // namespace distsim
