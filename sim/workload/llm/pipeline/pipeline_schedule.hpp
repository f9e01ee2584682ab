// Pipeline schedules: in which order the stages of a pipeline run the passes of their micro-batches. Pure functions
// over counts.
//
// The layers are cut into stages x virtual_stages chunks, which follow each other along the model's positions. Chunk c of
// stage s is at position c * stages + s; under dualpipe every stage has two, at positions s and stages - 1 - s, and every
// position is on two stages. With p stages, m micro-batches, v chunks per stage, equal chunks, forward passes of F, backward
// passes of B of which weight gradients take W, and messages that take no time, a stage is idle for
//   gpipe, 1f1b   (p - 1) (F + B)              zero-bubble   (p - 1) (F + B - 2 W), where W <= F
//   interleaved   (p - 1) (F + B) / v          dualpipe      at most (p / 2 - 1) (F&B + B - 3 W)
// in an iteration, F&B being a forward and a backward pass that run together.
// gpipe (arXiv 1811.06965): all forward passes, then all backward passes; every micro-batch's activations are kept
// meanwhile. 1f1b (PipeDream-flush, arXiv 2006.09503): p - 1 - s forward passes, then one forward and one backward in
// turn; stage s keeps at most p - s micro-batches. interleaved (arXiv 2104.04473, section 2.2): 1f1b over chunks, p
// micro-batches of a chunk at a time, more forward passes ahead; m is a multiple of p. zero-bubble (ZB-H1 of arXiv
// 2401.10241): 1f1b whose backward passes find the gradients of inputs first; those of weights follow s micro-batches
// later, where 1f1b would wait at the end; every stage keeps at most p micro-batches. dualpipe (arXiv 2412.19437, section
// 3.2.1): micro-batches enter at both ends, half of them each; forward and backward passes of the two directions run in
// pairs; at most p + 1 micro-batches are kept; p and m are even, and m at least 2 p.
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
  std::uint32_t virtual_stages = 1;  ///< chunks of a stage
  std::int64_t micro_batches = 1;    ///< interleaved: a multiple of stages
  std::uint32_t last_position() const { return stages * virtual_stages - 1; }
  bool both_ways() const { return schedule == PipelineSchedule::dualpipe && stages > 1; }
  bool splits_backward() const {
    return (schedule == PipelineSchedule::zero_bubble || schedule == PipelineSchedule::dualpipe) && stages > 1;
  }
  std::uint32_t chunks() const { return both_ways() ? 2 : virtual_stages; }  ///< that a stage holds
  std::uint32_t copies() const { return both_ways() ? 2 : 1; }               ///< of every chunk
  std::uint32_t position(std::uint32_t stage, std::uint32_t chunk) const {
    return both_ways() && chunk == 1 ? stages - 1 - stage : both_ways() ? stage : chunk * stages + stage;
  }
  /// Where what runs as chunk `chunk` at a stage is at another position.
  std::uint32_t stage_at(std::uint32_t position, std::uint32_t chunk) const {
    return both_ways() && chunk == 1 ? stages - 1 - position : position % stages;
  }
};

/// What a pass finds. Schedules that split the backward pass run it as `inputs`, which the stage before waits for, and later
/// `weights`.
enum class Way : std::uint8_t { forward, backward, inputs, weights };
inline bool hands_back(Way way) { return way == Way::backward || way == Way::inputs; }

/// One pass of one micro-batch through one chunk of a stage. Of dualpipe the first half of the micro-batches go through
/// chunks 0, the others through chunks 1.
struct StagePass {
  Way way = Way::forward;
  std::uint32_t chunk = 0;
  std::int64_t micro_batch = 0;
  bool with_next = false;  ///< in one turn with the next pass
  bool operator==(const StagePass&) const = default;
};

/// The passes of a stage, in its order.
std::vector<StagePass> passes_of(const PipelineShape& shape, std::uint32_t stage);

/// What a stage does between two exchanges with its neighbours: one pass, or under `interleaved` and `dualpipe` a forward and
/// a backward pass. Empty: it has to wait.
using StageTurn = std::span<const StagePass>;

/// Calls visit(wave) with turns that can run at the same time, by stage. Every pass is in one wave, after the passes
/// that it needs: those of earlier waves, or of its own stage. Exchanges at the end of each turn, in which both
/// neighbours meet, leave the idle time as above, but for the schedules that split the backward pass: these need passes
/// that wait for no other message than their own.
void for_each_wave(const PipelineShape& shape, const std::function<void(std::span<const StageTurn>)>& visit);

/// Most of what a stage holds from a pass forward until its weight gradients are found, where a pass through chunk c leaves
/// bytes_of_chunk[c].
std::int64_t most_held(const PipelineShape& shape, std::uint32_t stage, std::span<const std::int64_t> bytes_of_chunk);

/// The idle share of an iteration by the formulas above, with F = B - W = W where the backward pass is split.
double ideal_bubble(const PipelineShape& shape);

}  // namespace distsim::workload
