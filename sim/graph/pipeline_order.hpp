// PipelineOrder: which passes of which micro-batches the stages of a pipeline run, for those who show its schedule.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::graph {

/// Schedules that split the backward pass find the gradients of inputs first and those of weights later.
enum class PassKind : std::uint8_t { forward, backward, inputs, weights };

/// One pass of one micro-batch through one of a stage's chunks; both count from 0.
struct PipelinePass {
  PassKind kind = PassKind::forward;
  std::uint32_t chunk = 0;
  std::int64_t micro_batch = 0;
  bool operator==(const PipelinePass&) const = default;
};

struct PipelineOrder {
  std::uint32_t ranks_apart = 1;                    ///< the first rank of stage s is s * ranks_apart
  std::uint32_t chunks = 1;                         ///< that a stage holds
  std::int64_t micro_batches = 1;                   ///< that are played
  std::int64_t in_iteration = 1;                    ///< of which those are a part
  std::vector<std::vector<PipelinePass>> of_stage;  ///< in the order of the stage's tasks
};

}  // namespace distsim::graph
