// Interference: kernels and collectives that overlap slow each other. NCCL's kernels hold SMs, and compute and
// communication share the memory bandwidth.
#pragma once

#include "base/result.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/pipeline/passes/passed.hpp"

namespace distsim::pipeline {

/// Cost of one second of overlap.
struct Interference {
  double kernels = 0;    ///< seconds that kernels lose per second of overlap (FrameworkSpec::overlap_cost)
  double transfers = 0;  ///< seconds that transfers lose per second of overlap (FrameworkSpec::transfer_overlap_cost)
};

/// A program with its overlapping steps lengthened, and the longest time added on any rank in one iteration.
struct Slowed {
  Lowered lowered;
  Duration kernels, transfers;
};

/// Lengthens every kernel and every collective by what it loses to the others in `timeline`, on each rank:
///   kernel'   = kernel   + cost.kernels   x |kernel and (union of transfers)|
///   transfer' = transfer + cost.transfers x |transfer and (union of kernels)|
/// A collective loses on every rank what it loses on the rank that loses most. The overlap is that of the last
/// iteration; earlier iterations get the same. One step of a fixed-point iteration. Kernels are the steps of the
/// compute stream that are no collectives.
Slowed slow_overlaps(Lowered lowered, const engine::Timeline& timeline, const graph::CostedGraph& graph,
                     const Interference& cost);

/// The pass `interfere`: plays the program once to see what overlaps, and slows that. Assumptions say how much was
/// lost. A program in which nothing can overlap is returned as it is.
Result<Passed<Lowered>> interfere(Lowered lowered, const graph::CostedGraph& graph, const Interference& cost);

}  // namespace distsim::pipeline
