// Pipeline schedules: in which order the stages of a pipeline run the passes of their micro-batches. Pure functions
// over counts.
//
// The layers are cut into stages x virtual_stages chunks; chunk c of stage s is the (c * stages + s)-th of the model.
// With p stages, m micro-batches, v chunks per stage, equal chunks and messages that take no time, an iteration has the
// idle fraction
//   gpipe, 1f1b   (p - 1) / (m + p - 1)          interleaved   (p - 1) / (v m + p - 1)
// gpipe (arXiv 1811.06965): all forward passes, then all backward passes; every micro-batch's activations are kept
// meanwhile. 1f1b (PipeDream-flush, arXiv 2006.09503): p - 1 - s forward passes, then one forward and one backward in
// turn; stage s keeps at most p - s micro-batches. interleaved (arXiv 2104.04473, section 2.2): 1f1b over chunks, p
// micro-batches of a chunk at a time, more forward passes ahead; m is a multiple of p.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sim/workload/specs/parallel_spec.hpp"

namespace distsim::workload {

struct PipelineShape {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::uint32_t stages = 1;
  std::uint32_t virtual_stages = 1;                                         ///< chunks of a stage
  std::int64_t micro_batches = 1;                                           ///< interleaved: a multiple of stages
  std::uint32_t last_chunk() const { return stages * virtual_stages - 1; }  ///< of the model
};

/// One pass of one micro-batch through one chunk of a stage.
struct StagePass {
  bool backward = false;
  std::uint32_t chunk = 0;
  std::int64_t micro_batch = 0;
  bool operator==(const StagePass&) const = default;
};

/// The passes of a stage, in its order.
std::vector<StagePass> passes_of(const PipelineShape& shape, std::uint32_t stage);

/// What a stage does between two exchanges with its neighbours: one pass, or under `interleaved` a forward and then a
/// backward pass. Empty: it has to wait.
using StageTurn = std::span<const StagePass>;

/// Calls visit(wave) with turns that can run at the same time, by stage. Every pass is in one wave, after the passes
/// that it needs: those of earlier waves, or of its own stage. Exchanges at the end of each turn, in which both
/// neighbours meet, leave the idle fraction as above.
void for_each_wave(const PipelineShape& shape, const std::function<void(std::span<const StageTurn>)>& visit);

/// Most of what a stage holds from forward to backward at a time, where a pass through chunk c leaves
/// bytes_of_chunk[c].
std::int64_t most_held(const PipelineShape& shape, std::uint32_t stage, std::span<const std::int64_t> bytes_of_chunk);

/// The idle fraction above.
double ideal_bubble(const PipelineShape& shape);

}  // namespace distsim::workload
