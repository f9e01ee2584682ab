// Steps of one rank: busy, compute, communication, exposed, idle, and the gaps.
#pragma once

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Fills steps, steps_marked and whole.
void profile_steps(const traces::TraceRank& rank, RankProfile& out);

/// The same for the steps that start in [begin, end), and for the part of the whole window within, from the first to
/// the last moment that something runs there (no such part: `whole` stays empty); without measured times, which need
/// the next step.
void profile_steps_within(const traces::TraceRank& rank, std::int64_t begin, std::int64_t end, RankProfile& out);

/// Measured times of all steps, from their first device records.
void set_measured_times(RankProfile& out);

}  // namespace distsim::profile
