// MegatronPlan: an iteration of a GPT split over GPUs, before any task is written. Rank r: place r % tensor of its
// tensor-parallel group, replica r / tensor % replicas, stage r / (tensor x replicas).
//
// megatron_plan.cpp divides ranks and samples, megatron_memory.cpp counts bytes, megatron_emission.hpp writes the
// tasks. All but the last are pure.
#pragma once

#include <vector>

#include "sim/workload/family.hpp"
#include "sim/workload/llm/megatron_layers.hpp"
#include "sim/workload/llm/pipeline_schedule.hpp"
#include "sim/workload/specs/numerics.hpp"

namespace distsim::workload {

/// The references live as long as the call of build that made the plan.
struct MegatronPlan {
  const ModelSpec& model;
  const MegatronSpec& spec;
  const FrameworkSpec& framework;
  ClusterShape cluster;
  Numerics numerics;
  std::uint32_t tensor = 1, expert = 1, stages = 1, replicas = 1;
  std::int64_t micro_steps = 1;  ///< of a replica
  PipelineShape pipeline;
  SplitLayers split;  ///< what a rank holds of embedding, a chunk of blocks, and head

  std::uint32_t ranks() const { return cluster.ranks(); }
  std::uint32_t ranks_per_stage() const { return ranks() / stages; }
  bool pipelined() const { return stages > 1; }
  /// ZeRO: 1 optimizer state, 2 gradients, 3 weights are split over the replicas.
  bool sharded(int stage) const { return spec.zero >= stage && replicas > 1; }
  /// Gradients are reduced block by block during the last backward pass; else in one piece after it.
  bool syncs_by_block() const;
  LayerContext context() const { return {numerics, &framework}; }

  /// Chunks that a stage holds of a part of the model.
  std::int64_t chunks_of(ModelPart part, std::uint32_t stage) const;
  std::int64_t parameters_of_stage(std::uint32_t stage) const;
  std::int64_t tensors_of_stage(std::uint32_t stage) const;
  double forward_flops_of_stage(std::uint32_t stage) const;
};

/// Errors: GPUs that tensor x pipeline x expert does not divide; a batch that replicas, micro-batch and schedule do not
/// divide; more micro-steps than can be simulated; sizes beyond int64.
Result<MegatronPlan> plan_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                                   std::int64_t batch);

/// Of a model on `ranks` GPUs.
Batching batching_of(const MegatronSpec& spec, std::uint32_t ranks);

/// Of every rank, or a single one where there is no pipeline.
std::vector<RankMemory> memory_of(const MegatronPlan& plan);

}  // namespace distsim::workload
