// What the ranks of a split language model hold.
#include <algorithm>

#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

// Of an H100: what nvidia-smi shows of a process that has made a CUDA context, cuBLAS and its workspaces (chosen: 0.4 to
// 0.6 GB are usual), and NCCL's buffers: 2 x 4 MiB a channel and peer, up to 32 channels, for each communicator.
constexpr double kLibraries = 0.5e9;
constexpr double kCommunicator = 0.15e9;

/// Weights of one kind on a rank, and among how many ranks their state is spread.
struct Weights {
  double all = 0, trained = 0, owners = 1;
};

/// Sums of 16-bit gradients over micro-batches.
bool sums_in_fp32(const LlmPlan& plan) {
  return plan.numerics.mixed && plan.framework.parallel.master_weights &&
         plan.framework.parallel.main_gradient_bytes == 0 && plan.framework.memory.bf16_sums_in_fp32 &&
         plan.pipelined() && plan.model.precision == Precision::bf16;
}

/// Of a parameter of the rank's share while the optimizer runs. It reads 16-bit gradients as a copy in fp32.
double step_bytes(const LlmPlan& plan) {
  const bool copies = plan.numerics.mixed && plan.framework.parallel.master_weights &&
                      plan.framework.parallel.main_gradient_bytes == 0 && !sums_in_fp32(plan);
  return static_cast<double>(plan.framework.memory.step_bytes) + (copies ? 4 : 0);
}

/// Returns the parameters that the rank's optimizer updates.
double add_weights(RankMemory& m, const LlmPlan& plan, const Weights& w) {
  const bool mixed = plan.numerics.mixed, narrow = plan.numerics.scaling != graph::Scaling::none;
  const FrameworkSpec::Parallel& f = plan.framework.parallel;
  const bool masters = mixed && f.master_weights && mode_of(plan.model) != StepMode::inference;
  const bool split = plan.splits(StateSplit::weights);
  const bool gathered = split && plan.pipelined();  // for the whole iteration
  const double store = !mixed ? 4 : narrow && f.fp8_parameters ? 1 : 2;
  const auto spread = [&](StateSplit what) { return plan.splits(what) ? w.owners : 1; };
  const double here = 1 - plan.offloaded_weights;
  const auto add = [](std::int64_t& to, double bytes) { to += static_cast<std::int64_t>(bytes); };
  const bool host = plan.optimizer_on_host();
  const double frozen = w.all - w.trained;
  if (split) add(m.weights, here * (frozen * (mixed ? 2 : 4) + (masters ? 0 : w.trained * store)) / w.owners);
  if (!split || gathered) add(m.weights, here * w.all * store);
  if (masters && !host) add(m.weights, w.trained * 4 / spread(StateSplit::optimizer));
  const auto sixteen = static_cast<double>(graph::size_of(plan.numerics.gradient));
  const bool spread_gradients = plan.owns_gradients() && !plan.sums_whole_gradients();
  // Sums of whole gradients are as wide as what is reduced of them (FSDP's unsharded_accumulated_grad).
  const bool in_own_width = mixed && spread_gradients && f.main_gradient_bytes > 0;
  const double main = std::max(static_cast<double>(f.main_gradient_bytes), in_own_width ? 0.0 : sixteen);
  add(m.gradients, here * w.trained * main / (spread_gradients ? w.owners : 1));
  if (sums_in_fp32(plan)) add(m.gradients, here * w.trained * 4);
  if (!host)
    add(m.optimizer, w.trained * static_cast<double>(state_bytes_per_parameter(plan.model.optimizer)) *
                         (mixed && !masters ? 0.5 : 1) / spread(StateSplit::optimizer));
  return host ? 0 : w.trained / spread(StateSplit::optimizer);
}

/// Of what blocks keep, offload moves a share; of what moves two blocks are there: one that computes, and one on its way. What
/// both ends of the model keep, as the loss does its logits, stays.
double activations(const LlmPlan& plan, std::uint32_t stage) {
  std::vector<std::int64_t> all, moving, staying;  // of each chunk
  double working = 0, block = 0;
  const double share = plan.offloaded_activations;
  for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
    const LlmChunk& chunk = plan.chunk_of_stage(stage, c);
    const PartWork& work = chunk.work;
    const bool sends = plan.pipelined() && plan.pipeline.position(stage, c) != plan.pipeline.last_position();
    all.push_back(static_cast<std::int64_t>(work.kept) +
                  (sends && plan.framework.memory.keeps_outputs ? message_bytes(plan) : 0));
    moving.push_back(static_cast<std::int64_t>(share * work.movable));
    staying.push_back(all.back() - moving.back());
    working = std::max(working, work.working);
    block = std::max(block, chunk.most_kept);
  }
  const auto held = [&](const std::vector<std::int64_t>& of_chunk) {
    return static_cast<double>(most_held(plan.pipeline, stage, of_chunk));
  };
  if (share == 0) return held(all) + working;
  return std::min(held(all), held(staying) + std::min(held(moving), share * 2 * block)) + working;
}

/// Of inference: what one of a stage's blocks, or an end of the model, holds while it runs.
double passing(const LlmPlan& plan, std::uint32_t stage) {
  double most = 0;
  for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
    most = std::max(most, plan.chunk_of_stage(stage, c).most_passing);
  }
  return most;
}

/// Blocks whose weights were gathered, or have come from the host's memory, and gradients of one until they are reduced or
/// gone there; buckets of gradients where they are copied. Not more comes than there is, however far ahead.
double buffers(const LlmPlan& plan, std::uint32_t stage) {
  const bool infers = mode_of(plan.model) == StepMode::inference;
  double sum = kLibraries + (infers ? 0 : static_cast<double>(plan.framework.memory.buffers.value()));
  double largest = 0, trained = 0, all = 0;
  for (const bool used : {plan.tensor > 1, plan.replicas() > 1, plan.stages > 1, plan.context > 1, plan.expert > 1})
    sum += used ? kCommunicator : 0;
  for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
    const LlmChunk& chunk = plan.chunk_of_stage(stage, c);
    largest = std::max(largest, chunk.largest_block);
    trained = std::max(trained, chunk.most_trained);
    all += chunk.work.dense + chunk.work.expert;
  }
  const double coming = plan.splits(StateSplit::weights) && !plan.pipelined() ? 1 : plan.offloaded_weights;
  const double width = gathered_width(plan);
  const double gathered = std::min(all, largest * (1 + static_cast<double>(plan.parallel.prefetch)));
  const double gradients = infers ? 0 : trained * static_cast<double>(graph::size_of(plan.numerics.gradient));
  return sum + coming * (gathered * width + gradients);
}

RankMemory memory_of_stage(const LlmPlan& plan, std::uint32_t stage) {
  PartWork sum;
  for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
    const PartWork& work = plan.chunk_of_stage(stage, c).work;
    sum.dense += work.dense;
    sum.expert += work.expert;
    sum.trained_dense += work.trained_dense;
    sum.trained_expert += work.trained_expert;
  }
  RankMemory m;
  const double groups = static_cast<double>(plan.replicas()) / plan.shard_group;
  const double copies = plan.pipeline.copies();  // on another stage, which share the state
  double updated = add_weights(m, plan, {sum.dense, sum.trained_dense, copies * plan.shard_group});
  updated +=
      add_weights(m, plan, {sum.expert, sum.trained_expert, copies * std::max(1.0, plan.expert_replicas() / groups)});
  m.activations = static_cast<std::int64_t>(activations(plan, stage));
  m.buffers = static_cast<std::int64_t>(buffers(plan, stage));
  if (mode_of(plan.model) != StepMode::train) m.optimizer = 0;
  if (mode_of(plan.model) == StepMode::inference) {
    m.gradients = 0;
    m.activations = static_cast<std::int64_t>(passing(plan, stage));
  }
  if (mode_of(plan.model) != StepMode::train) return m;
  // By then activations are gone.
  m.buffers += std::max<std::int64_t>(0, static_cast<std::int64_t>(step_bytes(plan) * updated) - m.activations);
  return m;
}

}  // namespace

std::vector<RankMemory> memory_of_stages(const LlmPlan& plan) {
  std::vector<RankMemory> out;
  for (std::uint32_t s = 0; s < plan.stages; ++s) out.push_back(memory_of_stage(plan, s));
  return out;
}

std::vector<RankMemory> memory_of(const LlmPlan& plan) {
  std::vector<RankMemory> of_stage = memory_of_stages(plan);
  if (!plan.pipelined()) return of_stage;
  std::vector<RankMemory> out;
  for (std::uint32_t time = 0; time < plan.grid.repeats(); ++time) {
    for (const RankMemory& memory : of_stage) out.insert(out.end(), plan.grid.alike(), memory);
  }
  return out;
}

}  // namespace distsim::workload
