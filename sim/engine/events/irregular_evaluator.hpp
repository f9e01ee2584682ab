// Irregular evaluator: plays every rank's own list of steps. Ends are pushed from step to step as they become known;
// each step once.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "sim/engine/program/irregular_program.hpp"

namespace distsim::engine {

struct StepTimes {
  std::int64_t ready = 0, start = 0, end = 0;  ///< picoseconds; meaning as in RankStep
  bool operator==(const StepTimes&) const = default;
};

struct IrregularTimeline {
  IdVector<StepId, StepTimes> steps;
  Duration makespan;
  std::uint64_t digest = 0;  ///< over (step, ready, start, end) of all steps, in any order
};

/// Ids in range, durations below 2^62 ps and not negative, every meeting with as many members as it needs.
Result<void> validate(const IrregularProgram& program);

/// Plays the program. Cost: steps + waits. Refuses an invalid program, times that would reach 2^62 ps, and a deadlock,
/// whose cycle it names.
Result<IrregularTimeline> evaluate_irregular(const IrregularProgram& program);

/// Why a valid program cannot finish: steps of which each waits for the next, or for the next to arrive at their
/// meeting, and the last for the first. Empty where it can.
std::vector<StepId> find_deadlock(const IrregularProgram& program);

/// Order-independent fingerprint of a step's times; a timeline's digest is their sum and a word for their number.
std::uint64_t fingerprint_of(StepId step, const StepTimes& times);
std::uint64_t fingerprint_of(const IdVector<StepId, StepTimes>& times);

}  // namespace distsim::engine
