// Row evaluator: a program of fixed order is a max-plus recurrence (see Step); it is evaluated step by step over all ranks at once.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program.hpp"
#include "sim/engine/timeline.hpp"

namespace distsim {

/// Checks a program: ids in range, waits point backwards, durations not negative, rows of the right length, groups disjoint and covering.
Result<void> validate(const Program& program);

/// Plays the program. Cost: ranks x (steps + waits) in the worst case; steps whose inputs are all uniform cost O(1).
/// Refuses an invalid program and one whose times would pass 2^62 ps.
Result<Timeline> evaluate_rows(const Program& program);

}  // namespace distsim
