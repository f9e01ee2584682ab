// Verify: does a timeline obey its program? Written from the definitions in Step, without the evaluators' shortcuts.
#pragma once

#include "base/result.hpp"
#include "sim/engine/program/program.hpp"
#include "sim/engine/timeline/timeline.hpp"

namespace distsim::engine {

/// The laws that every timeline of a valid program keeps, on every rank:
///   each step is there once
///   ready = latest end of what the step waits for
///   start = ready, or the last arrival of its group
///   end = start + duration
///   steps of a stream do not overlap
///   busy + idle = makespan on every stream, with no idle span negative
///   makespan = latest end
///   digest = fingerprint of the rows
/// Returns the first broken law with its step and rank.
/// Cost: about ranks x (steps + waits), or steps + waits where everything is uniform.
Result<void> verify(const Program& program, const Timeline& timeline);

}  // namespace distsim::engine
