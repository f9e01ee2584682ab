// PipelineOrder: which passes of which micro-batches the stages of a pipeline run, for those who show its schedule.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/op.hpp"

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
  std::vector<std::vector<std::pair<Op, double>>>
      repeated;  ///< by kind of chunk: kernels of the forward pass that a backward pass of it runs again, and how often
  std::vector<std::uint32_t> kind_of;  ///< of stage s, chunk c: [s * chunks + c]

  const std::vector<std::pair<Op, double>>& repeated_of(std::size_t stage, std::uint32_t chunk) const {
    return repeated[kind_of[stage * chunks + chunk]];
  }
};

}  // namespace distsim::graph
