// Interference: kernels are slower while a collective runs beside them, because NCCL's kernels hold SMs and both draw on the same memory.
#pragma once

#include "base/result.hpp"
#include "sim/app/lower.hpp"
#include "sim/engine/timeline.hpp"

namespace distsim {

/// Lengthens every kernel of the program by `overlap_cost` x the time for which, in `timeline`, a collective's transfer ran on its rank while it did:
///   duration' = duration + overlap_cost x |kernel and (union of transfers)|
/// The overlap is that of the last iteration; earlier iterations get the same. One step of a fixed-point iteration: play the program again afterwards.
/// Kernels are the non-collective steps of the compute stream. Returns the longest time added on any rank (the program is unchanged where it is zero).
Result<Duration> slow_beside_collectives(Lowered& lowered, const Timeline& timeline, const CostedGraph& graph, double overlap_cost);

}  // namespace distsim
