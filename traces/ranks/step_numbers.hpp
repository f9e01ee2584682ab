// Which iteration of a job each step of a rank is: by the numbers in their names, which ranks share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::traces {

/// Whether the name of every step of a rank ends with its number ("ProfilerStep#12") and the numbers count up, so that a step
/// is the same iteration as that of its number on another rank.
bool has_numbered_steps(const TraceRank& rank);

/// Where a collective was launched: in a numbered step, before the first, or after one (between two, or behind the last).
struct StepPlace {
  enum class Part : std::uint8_t { before, in, after };
  std::int64_t step = 0;
  Part part = Part::before;
  auto operator<=>(const StepPlace&) const = default;
};

/// Of all collectives of a rank. What no recorded call launched follows the one before it on its rank, where others have a
/// call; where none has, its own start counts. REQUIRES: has_numbered_steps, collectives complete.
std::vector<StepPlace> step_places(const TraceRank& rank);

/// What ranks of one job lack of each other's steps: "step 4 of rank 1", "the steps of rank 2" (it marks none, or none with a
/// number, where others do). Empty: all have the same.
std::vector<std::string> steps_missing_from_ranks(const TraceJob& job);

/// Says which ranks with numbered steps have none of the numbers of any other.
void note_steps_apart(TraceJob& job);

}  // namespace distsim::traces
