#include "sim/workload/llm/megatron_emission.hpp"

#include <string>

#include "sim/workload/graph/input.hpp"
#include "sim/workload/llm/replica_sync.hpp"

namespace distsim::workload {
namespace {

constexpr double kTokenBytes = 16;  // id and label, int64 each

void wait_for(MegatronEmission& e, const std::vector<TaskId>& tasks) {
  for (const TaskId task : tasks) e.it.compute_waits_for(task);
}

/// First layers of the model's blocks that some stage runs, in order.
std::vector<std::size_t> blocks_of(MegatronEmission& e, const StagePasses& stages) {
  std::vector<std::size_t> out;
  for (std::size_t first = 0; first < e.layers(); first = e.block_end(first)) {
    if (e.parts.table_of(stages.of(e.part_of(first)))) out.push_back(first);
  }
  return out;
}

/// A collective of a layer, which the next layer waits for.
void add_layer_exchange(MegatronEmission& e, const LayerExchange& x, const std::string& layer, graph::Phase phase) {
  const graph::Partition groups =
      x.experts ? graph::Partition::strided(e.plan.expert, e.plan.tensor) : graph::Partition::strided(e.plan.tensor, 1);
  const graph::Collective op{x.kind, x.bytes, e.plan.numerics.activation, {}, {}};
  e.it.compute_waits_for(
      e.it.add_collective(layer + "." + std::string(graph::name_of(x.kind)), graph::Stream::comm, phase, op, groups));
}

/// Forward kernels of the block that begins with layer `first`; backward too, where it is recomputed.
void add_block_forward(MegatronEmission& e, std::size_t first, graph::Phase phase) {
  const SplitLayers& split = e.plan.split;
  for (std::size_t i = first, end = e.block_end(first); i < end; ++i) {
    e.it.add_forward(e.stack, i, e.samples, phase);
    for (const LayerExchange& x : split.after_forward[i]) add_layer_exchange(e, x, split.layers[i].name, phase);
  }
}

void add_layer_backward(MegatronEmission& e, const StagePasses& stages, std::size_t i) {
  const SplitLayers& split = e.plan.split;
  e.it.add_backward(e.stack, i, e.samples);
  if (const auto adding = e.parts.table_of(both(stages.of(e.part_of(i)), stages.accumulating))) {
    e.it.restrict_to(*adding);
    add_accumulation(e.it, split.layers[i]);
    e.restrict_to(stages, i);
  }
  for (const LayerExchange& x : split.after_backward[i])
    add_layer_exchange(e, x, split.layers[i].name + ".dgrad", graph::Phase::backward);
}

void add_tokens(MegatronEmission& e, const StagePasses& stages) {
  e.restrict_to(stages, 0);
  add_input(e.it, e.samples,
            static_cast<double>(e.plan.spec.sequence) * kTokenBytes / static_cast<double>(e.plan.spec.tensor));
}

void add_forward_pass(MegatronEmission& e, const StagePasses& stages) {
  const std::vector<std::size_t> blocks = blocks_of(e, stages);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (b == 0 && e.part_of(blocks[0]) == ModelPart::embedding) add_tokens(e, stages);
    fetch_weights(e, stages, blocks[b], b + 1 < blocks.size() ? blocks[b + 1] : e.layers());
    e.restrict_to(stages, blocks[b]);
    add_block_forward(e, blocks[b], graph::Phase::forward);
  }
}

void add_block_backward(MegatronEmission& e, const StagePasses& stages, std::size_t first) {
  e.restrict_to(stages, first);
  if (e.plan.split.layers[first].block != Layer::kNoBlock) add_block_forward(e, first, graph::Phase::backward);
  for (std::size_t i = e.block_end(first); i-- > first;) add_layer_backward(e, stages, i);
  if (e.plan.syncs_by_block()) sync_block(e, stages, first);
}

void add_backward_pass(MegatronEmission& e, const StagePasses& stages) {
  const std::vector<std::size_t> blocks = blocks_of(e, stages);
  for (std::size_t b = blocks.size(); b-- > 0;) {
    fetch_weights(e, stages, blocks[b], b > 0 ? blocks[b - 1] : e.layers());
    add_block_backward(e, stages, blocks[b]);
  }
  if (!e.plan.syncs_by_block()) sync_whole(e, stages.ending);
}

/// Turns of some stages at the same time: the forward passes, then the backward passes.
void add_wave(MegatronEmission& e, std::span<const StageTurn> wave) {
  const auto [forward, backward] = passes_of_wave(e.plan.pipeline, wave);
  add_forward_pass(e, forward);
  add_backward_pass(e, backward);
}

void add_micro_steps(MegatronEmission& e) {
  TaskId begin;
  for (std::int64_t step = 0; step < e.plan.micro_steps; ++step) {
    const TaskId next = e.it.end_id();
    if (step >= 2 && step + 1 < e.plan.micro_steps) {
      e.it.repeat_since(begin);
    } else {
      const StagePass passes[] = {{false, 0, step}, {true, 0, step}};
      const StageTurn turn(passes);
      add_wave(e, {&turn, 1});
    }
    begin = next;
  }
}

std::vector<TaskId> add_messages(MegatronEmission& e, std::span<const StageTurn> wave, PipelineParts::Ways ways) {
  e.it.restrict_to(graph::Task::kUniform);
  return e.parts.exchange(e.plan.pipeline, wave, e.plan.split.message_bytes, ways);
}

/// Passes of both directions wait for all messages of the wave before.
void add_waves(MegatronEmission& e) {
  for_each_wave(e.plan.pipeline, [&](std::span<const StageTurn> wave) {
    add_wave(e, wave);
    wait_for(e, add_messages(e, wave, {true, true}));
  });
}

/// Passes wait for the messages of their own direction.
void add_overlapping_waves(MegatronEmission& e) {
  std::vector<TaskId> forward, backward;
  for_each_wave(e.plan.pipeline, [&](std::span<const StageTurn> wave) {
    const auto [ahead, back] = passes_of_wave(e.plan.pipeline, wave);
    if (ahead.any()) {
      wait_for(e, forward);
      add_forward_pass(e, ahead);
      forward = add_messages(e, wave, {true, false});
    }
    if (back.any()) {
      wait_for(e, backward);
      add_backward_pass(e, back);
      backward = add_messages(e, wave, {false, true});
    }
  });
  wait_for(e, forward);
  wait_for(e, backward);
}

/// Shares of the first stage, of those between, of the last.
void add_update(MegatronEmission& e) {
  const MegatronPlan& plan = e.plan;
  const std::int64_t owners = plan.sharded(1) ? plan.replicas : 1;
  std::vector<OptimizerShare> shares;
  for (const std::uint32_t s : {0u, plan.stages > 2 ? 1u : 0u, plan.stages - 1})
    shares.push_back({(plan.parameters_of_stage(s) + owners - 1) / owners, plan.tensors_of_stage(s)});
  const bool fp16 = plan.model.precision == Precision::fp16;
  if (!plan.pipelined())
    return add_optimizer(e.it, plan.model.optimizer, shares[0].parameters, shares[0].tensors, fp16);
  std::vector<std::uint32_t> share_of_rank;
  for (std::uint32_t s = 0; s < plan.stages; ++s)
    share_of_rank.insert(share_of_rank.end(), plan.ranks_per_stage(), s == 0 ? 0 : s + 1 == plan.stages ? 2 : 1);
  add_optimizer(e.it, plan.model.optimizer, shares, e.it.table_of(std::move(share_of_rank)), fp16);
}

void sum_word_embedding(MegatronEmission& e) {
  const graph::DType dtype = e.plan.numerics.gradient;
  e.synced.push_back(
      e.parts.sum_of_ends("gradients.word_embedding", e.plan.split.tied_elements * graph::size_of(dtype), dtype));
}

}  // namespace

Result<graph::TaskGraph> emit_megatron(const MegatronPlan& plan) {
  MegatronEmission e(plan);
  if (plan.sharded(1) && !plan.sharded(3)) gather_all_weights(e);  // those that the step before has updated
  if (!plan.pipelined())
    add_micro_steps(e);
  else if (plan.spec.overlap_p2p)
    add_overlapping_waves(e);
  else
    add_waves(e);
  e.it.restrict_to(graph::Task::kUniform);
  if (plan.pipelined()) sum_word_embedding(e);
  wait_for(e, e.synced);
  add_update(e);
  return std::move(e.it).finish();
}

}  // namespace distsim::workload
