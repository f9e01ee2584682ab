// Program check: what must hold before a program can be played.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program/program.hpp"

namespace distsim::engine {

/// Times and durations stay below 2^62 ps (53 days), so that a sum of two never overflows.
inline constexpr std::int64_t kTimeLimit = std::int64_t{1} << 62;

/// Everything but the numbers inside duration rows: ids in range, waits that point backwards, lengths of rows, groups
/// disjoint and covering. Cost: steps + waits + listed members.
Result<void> check_structure(const Program& program);

/// The numbers of one step's duration: none negative, none at or past the limit.
Result<void> check_durations(const Program& program, StepId step);

}  // namespace distsim::engine
