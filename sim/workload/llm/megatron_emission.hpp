// Writes the tasks of a planned GPT iteration.
//
// Layers: megatron_layers.hpp. Order of the passes: pipeline_schedule.hpp; a stage posts what it sends and receives at
// the end of its turn, and goes on when both have arrived, as Megatron-LM does without overlap_p2p_comm; with it
// (`overlap_p2p`) a pass waits only for messages of its own direction. The last stage has a copy of the word embedding;
// both sum their gradients. Sharded data parallel (arXiv 1910.02054): 0 all-reduce of gradients; 1, 2 reduce-scatter,
// and gather of the updated weights; 3 gathers before each block's forward and backward pass, reduce-scatter after.
// Gradients: with `gradients.sync: one_shot`, or without `gradients.overlap`, a stage reduces them in one piece once
// its last backward pass is done; else, and from ZeRO 2 on, which keeps only a shard of them, block by block during the
// last backward pass. Replicas have a communicator, and so a stream, of their own: what they sum never blocks the
// collectives of a tensor-parallel group.
#pragma once

#include "sim/workload/llm/megatron_plan.hpp"

namespace distsim::workload {

Result<graph::TaskGraph> emit_megatron(const MegatronPlan& plan);

}  // namespace distsim::workload
