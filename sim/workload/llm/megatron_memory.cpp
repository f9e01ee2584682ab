// What the ranks of a split GPT hold.
#include <algorithm>

#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/megatron_plan.hpp"

namespace distsim::workload {
namespace {

/// With checkpointing a block keeps its input, and one block at a time is recomputed in full.
std::int64_t activations(const MegatronPlan& plan, std::uint32_t stage) {
  const bool checkpointed = plan.spec.activation_checkpointing;
  std::vector<std::int64_t> of_chunk(plan.pipeline.virtual_stages, plan.split.kept(ModelPart::blocks, checkpointed));
  std::int64_t largest = plan.split.largest_whole(ModelPart::blocks);
  const auto add = [&](ModelPart part, std::int64_t& chunk) {
    chunk += plan.split.kept(part, checkpointed);
    largest = std::max(largest, plan.split.largest_whole(part));
  };
  if (stage == 0) add(ModelPart::embedding, of_chunk.front());
  if (stage + 1 == plan.stages) add(ModelPart::head, of_chunk.back());
  return most_held(plan.pipeline, stage, of_chunk) + (checkpointed ? largest : 0);
}

RankMemory memory_of_stage(const MegatronPlan& plan, std::uint32_t stage) {
  const std::int64_t parameters = plan.parameters_of_stage(stage), replicas = plan.replicas;
  RankMemory m = dense_memory(parameters, plan.model.optimizer, plan.numerics, plan.ranks());
  const std::int64_t masters = plan.numerics.mixed ? parameters * 4 : 0, weights = m.weights - masters;
  m.weights = (plan.sharded(3) ? weights / replicas : weights) + (plan.sharded(1) ? masters / replicas : masters);
  if (plan.sharded(1)) m.optimizer /= replicas;
  if (plan.sharded(2)) m.gradients /= replicas;
  m.buffers = 0;
  m.activations = activations(plan, stage);
  return m;
}

}  // namespace

std::vector<RankMemory> memory_of(const MegatronPlan& plan) {
  if (!plan.pipelined()) return {memory_of_stage(plan, 0)};
  std::vector<RankMemory> out;
  for (std::uint32_t s = 0; s < plan.stages; ++s)
    out.insert(out.end(), plan.ranks_per_stage(), memory_of_stage(plan, s));
  return out;
}

}  // namespace distsim::workload
