// What the replicas of a weight exchange: its gradients, and where it is sharded (ZeRO) the weight itself. And the
// state that emission shares.
#pragma once

#include <vector>

#include "sim/workload/graph/gradient_sync.hpp"
#include "sim/workload/graph/iteration.hpp"
#include "sim/workload/llm/megatron_plan.hpp"
#include "sim/workload/llm/stage_passes.hpp"

namespace distsim::workload {

/// A plan and the graph that it is written into.
struct MegatronEmission {
  explicit MegatronEmission(const MegatronPlan& p)
      : plan(p),
        it(p.ranks(), p.framework, p.numerics, p.pipelined() ? p.ranks_per_stage() : 1),
        samples{p.ranks(), p.ranks(), p.spec.micro_batch, p.spec.micro_batch},
        stack([&p](std::int64_t) { return p.split.layers; }, samples),
        parts(it, p.stages, p.ranks_per_stage(), p.cluster.gpus_per_node) {}

  std::size_t layers() const { return plan.split.layers.size(); }
  ModelPart part_of(std::size_t layer) const { return plan.split.part_of(layer); }
  std::size_t block_end(std::size_t first) const;
  /// Lets the stages that run the part of a layer go on, and no others.
  void restrict_to(const StagePasses& stages, std::size_t layer) {
    it.restrict_to(*parts.table_of(stages.of(part_of(layer))));
  }

  const MegatronPlan& plan;
  Iteration it;
  SampleSplit samples;
  LayerStack stack;
  PipelineParts parts;
  std::size_t fetched = ~std::size_t{0};  ///< block whose weights are on their way
  TaskId ahead;                           ///< the gather that brings them
  std::vector<TaskId> synced;             ///< what the optimizer waits for
};

/// ZeRO 1 and 2: the weights of every stage, blocks of all, embedding of the first, head of the last.
void gather_all_weights(MegatronEmission& e);
/// ZeRO 3: waits for the weights of the block that begins with layer `first`, and asks for those of the one at `next`
/// (the number of layers: none), which arrive while this one computes. Nothing where replicas hold whole weights.
void fetch_weights(MegatronEmission& e, const StagePasses& stages, std::size_t first, std::size_t next);

/// Gradients of a block, by the stages whose last micro-batch it is.
void sync_block(MegatronEmission& e, const StagePasses& stages, std::size_t first);
/// All gradients of these stages.
void sync_whole(MegatronEmission& e, const Stages& stages);

}  // namespace distsim::workload
