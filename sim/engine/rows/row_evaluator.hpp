// Row evaluator: a program of fixed order is a max-plus recurrence (see Step); it is evaluated step by step over all
// ranks at once.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program/program.hpp"
#include "sim/engine/timeline/timeline.hpp"

namespace distsim::engine {

/// Checks a program: ids in range, waits point backwards, durations not negative, rows of the right length, groups
/// disjoint and covering.
Result<void> validate(const Program& program);

/// Plays the program. Cost: ranks x (steps + waits) in the worst case; steps whose inputs are all uniform cost O(1).
/// Memory: at most 24 bytes a rank and step; rows that are equal by construction are kept once. Ranks that the rows say
/// are alike (sim/engine/program/alike.hpp) are played once, and cost once. Refuses an invalid program and one whose times
/// would reach 2^62 ps.
Result<Timeline> evaluate_rows(const Program& program);

/// When everything ended; no more is kept.
struct Ends {
  Duration makespan;                 ///< latest end
  IdVector<StreamId, Row> last_end;  ///< by stream: end of its last step on every rank, 0 for a stream without steps
};

/// Plays the program only for its end, as a sweep does: the same times as evaluate_rows, without timeline and digest.
/// Holds only the rows that a later step still waits for.
Result<Ends> evaluate_makespan(const Program& program);

}  // namespace distsim::engine
