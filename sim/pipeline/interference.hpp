// Interference: what runs beside something else is slower. NCCL's kernels hold SMs, and compute and communication draw
// on the same memory.
#pragma once

#include "base/result.hpp"
#include "sim/engine/timeline/timeline.hpp"
#include "sim/pipeline/lower.hpp"

namespace distsim::pipeline {

/// What one second beside the other costs.
struct Interference {
  double kernels =
      0;  ///< seconds that kernels lose for a second of transfer beside them (framework.kernels.overlap_cost)
  double transfers =
      0;  ///< seconds that transfers lose for a second of kernels beside them (framework.kernels.transfer_overlap_cost)
};

/// The longest time added on any rank, in one iteration.
struct LostBeside {
  Duration kernels, transfers;
  bool none() const { return kernels == Duration() && transfers == Duration(); }
};

/// Lengthens every kernel and every collective of the program by what it loses beside the others in `timeline`, on each
/// rank:
///   kernel'   = kernel   + cost.kernels   x |kernel and (union of transfers)|
///   transfer' = transfer + cost.transfers x |transfer and (union of kernels)|
/// A collective loses on every rank what it loses on the rank that loses most. The overlap is that of the last
/// iteration; earlier iterations get the same. One step of a fixed-point iteration: play the program again afterwards.
/// Kernels are the non-collective steps of the compute stream. The program is unchanged where nothing is lost.
Result<LostBeside> slow_what_overlaps(Lowered& lowered, const engine::Timeline& timeline,
                                      const graph::CostedGraph& graph, const Interference& cost);

}  // namespace distsim::pipeline
