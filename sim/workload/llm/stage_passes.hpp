// StagePasses: which stages of a pipeline run a pass at the same time, and which parts of the model they run.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "sim/workload/llm/megatron_layers.hpp"
#include "sim/workload/llm/pipeline_parts.hpp"

namespace distsim::workload {

/// The stages that run a pass now, by part of the model; those that add to gradients which are there; those whose last
/// micro-batch it is, and those whose last pass of all it is (if backward).
struct StagePasses {
  Stages embedding, blocks, head, accumulating, last, ending;
  explicit StagePasses(std::size_t stages)
      : embedding(stages), blocks(stages), head(stages), accumulating(stages), last(stages), ending(stages) {}
  bool any() const { return std::find(blocks.begin(), blocks.end(), true) != blocks.end(); }
  const Stages& of(ModelPart part) const {
    return part == ModelPart::embedding ? embedding : part == ModelPart::head ? head : blocks;
  }
};

/// Who passes forward in a wave, and who backward.
inline std::pair<StagePasses, StagePasses> passes_of_wave(const PipelineShape& shape, std::span<const StageTurn> wave) {
  StagePasses forward(shape.stages), backward(shape.stages);
  for (std::uint32_t s = 0; s < shape.stages; ++s) {
    for (const StagePass& pass : wave[s]) {
      StagePasses& to = pass.backward ? backward : forward;
      const std::uint32_t chunk = pass.chunk * shape.stages + s;
      to.blocks[s] = true;
      to.embedding[s] = chunk == 0;
      to.head[s] = chunk == shape.last_chunk();
      to.accumulating[s] = pass.micro_batch > 0;
      to.last[s] = pass.micro_batch + 1 == shape.micro_batches;
      to.ending[s] = to.last[s] && pass.chunk == 0;
    }
  }
  return {std::move(forward), std::move(backward)};
}

inline Stages both(Stages a, const Stages& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] && b[i];
  return a;
}

}  // namespace distsim::workload
