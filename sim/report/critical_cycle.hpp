// The critical cycle: what sets the period.
//
// Walking back from the end of the last iteration, from each step to the input that held it back, leads sooner or later
// to a step that was met before, on the same rank, one iteration later. If both ends are exactly one period apart, the
// steps in between are a chain without a gap that repeats in each iteration: a cycle of the recurrence whose mean is the
// period. Where the host loop sets the pace, this is the host loop; the last kernels of the iteration, which follow the
// last launch, lead to it and are not part of it.
//
// Where no such pair is met (the iterations played have not settled, ranks take turns, or only one was played) the chain
// that covers the window is taken instead; its times sum to the period too.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/rows/loop_player.hpp"
#include "sim/engine/rows/recurrence.hpp"

namespace distsim::report {

/// A step on the cycle. In order of time without a gap; those that the period before the window's had are shifted by a
/// period, so that a cycle begins at the boundary of an iteration.
struct PathStep {
  StepId step;
  std::uint32_t rank = 0;  ///< of the program that was played: a role
  std::int64_t begin = 0, end = 0;
};

struct Chain {
  std::vector<PathStep> steps;  ///< that take time; their times sum to the period
  bool closed = false;          ///< a cycle, not only a chain through the window
};

/// Where a chain ends.
struct Window {
  std::int64_t begin = 0, end = 0;
  std::vector<StepId> last;  ///< steps one of which ends with it: the last device steps of the last iteration
  std::int64_t period() const { return end - begin; }
};

/// Of the last play of `recurrence`, a program of `iterations` equal ones. Where several inputs end at the same moment, the one
/// on the same stream is taken, then waits in their order. A joining step is entered from the rank that arrived last (the
/// lowest such rank).
Chain critical_chain(const engine::Recurrence& recurrence, std::uint16_t iterations, const Window& window);

/// The same of the last play of a loop; steps are numbered through all its rounds.
Chain critical_chain(const engine::LoopPlayer& player, const Window& window);

}  // namespace distsim::report
