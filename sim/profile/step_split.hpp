// Steps of one rank: busy, compute, communication, exposed, idle, and the gaps.
#pragma once

#include <cstdint>

#include "sim/profile/profile.hpp"

namespace distsim::profile {

/// Fills steps, steps_marked and whole.
void profile_steps(const traces::TraceRank& rank, RankProfile& out);

/// A stretch of time of which all records of the GPU are there; `dry`: when the last work of the slices before ended
/// (INT64_MIN: there was none). In ns of the rank's clock.
struct Slice {
  std::int64_t begin = 0, end = 0, dry = INT64_MIN;
};

/// Where a slice joins those before and behind it.
struct SliceEdge {
  bool works = false;            ///< whether work begins in it, or runs on after `dry`
  std::int64_t first = 0;        ///< its begin: from Slice::dry till then nothing ran
  bool waits_for_host = false;   ///< whether it was launched only after Slice::dry
  std::int64_t dry = INT64_MIN;  ///< when the last work of this slice and those before ended
};

/// The same for the steps that start in the slice, and for the part of the whole window within, from the first to
/// the last moment that something runs there (no such part: `whole` stays empty); without measured times, which need
/// the next step, and without what a step waits behind the last work of the slice.
SliceEdge profile_steps_within(const traces::TraceRank& rank, const Slice& slice, RankProfile& out);

/// Measured times of all steps, from their first device records.
void set_measured_times(RankProfile& out);

}  // namespace distsim::profile
