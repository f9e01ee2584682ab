#include "sim/workload/llm/megatron_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text/counted.hpp"

namespace distsim::workload {
namespace {

// Chosen: so many tasks, or times by layer, pass and stage, make some gigabytes of timeline.
constexpr std::int64_t kMostTasks = 4'000'000;
constexpr std::int64_t kTasksOfLayerPass = 8;
constexpr std::int64_t kMostStageTimes = 10'000'000;

constexpr double kExbibyte = 0x1p60;

/// Bytes of the weights or of the activations of `samples` sequences, whichever is more, with room to spare for both.
double most_bytes(const MegatronSpec& m, double samples) {
  const auto h = static_cast<double>(m.hidden), ffn = static_cast<double>(m.inner_width()),
             tokens = static_cast<double>(m.sequence), layers = static_cast<double>(m.layers),
             vocabulary = static_cast<double>(m.vocabulary), top_k = static_cast<double>(m.top_k),
             experts = static_cast<double>(std::max<std::int64_t>(1, m.experts));
  const double weights = 32 * (layers * h * (4 * h + 3 * ffn * experts) + 2 * vocabulary * h);
  const double of_sequence =
      tokens * (64 * h + 32 * ffn * top_k + 32 * vocabulary) + 32 * static_cast<double>(m.heads) * tokens * tokens;
  return std::max(weights, (layers + 2) * of_sequence * samples);
}

Result<void> check_bytes(const MegatronSpec& m, double samples) {
  const double bytes = most_bytes(m, samples);
  if (bytes < kExbibyte) return {};
  return Error{"model.megatron: found sizes that make more than " +
                   std::to_string(static_cast<std::int64_t>(std::min(bytes, 0x1p119) / kExbibyte)) +
                   " EiB of weights or activations, expected less than 1",
               "", ""};
}

Result<void> check_gpus(const MegatronSpec& m, std::uint32_t ranks) {
  const std::int64_t split = m.tensor * m.pipeline;
  if (split <= ranks && ranks % (split * m.expert) == 0) return {};
  return Error{"model.megatron.tensor: found " + std::to_string(m.tensor) +
                   (m.pipeline > 1 ? " x pipeline " + std::to_string(m.pipeline) : "") +
                   (m.expert > 1 ? " x expert " + std::to_string(m.expert) : "") + ", expected a divisor of " +
                   counted(ranks, "GPU"),
               "", ""};
}

/// Two layers for each expert of a GPU in each block of a chunk, which are more than fit once, before they are made.
Result<void> check_experts(const MegatronSpec& m) {
  const std::int64_t own = m.experts / m.expert, layers = 2 * own * m.chunk_layers();
  if (layers <= kMostTasks / kTasksOfLayerPass) return {};
  return Error{"model.megatron.experts: found " + std::to_string(m.experts) + ", " + std::to_string(own) +
                   " on each GPU in each of " + counted(static_cast<std::uint64_t>(m.chunk_layers()), "block") +
                   ", expected at most " + std::to_string(kMostTasks / kTasksOfLayerPass / 2 / m.chunk_layers()),
               "", "expert: the experts are split over so many GPUs"};
}

/// A pipeline's passes come in waves, each with the layers of a chunk both ways; steps have a time for every stage.
Result<void> check_tasks(const MegatronPlan& plan) {
  const std::int64_t rounds =
      plan.pipelined() ? 2 * (plan.micro_steps * plan.spec.virtual_stages + plan.stages) : plan.micro_steps;
  const std::int64_t layer_passes =
      rounds > kMostTasks ? rounds : rounds * static_cast<std::int64_t>(plan.split.layers.size());
  if (layer_passes <= kMostTasks / kTasksOfLayerPass &&
      (!plan.pipelined() || layer_passes <= kMostStageTimes / plan.stages)) {
    return {};
  }
  return Error{"model.megatron.micro_batch: found " + std::to_string(plan.spec.micro_batch) + ", which makes " +
                   std::to_string(plan.micro_steps) + " micro-steps" +
                   (plan.pipelined() ? " on " + std::to_string(plan.stages) + " stages" : "") + ", expected fewer",
               "", ""};
}

Result<void> divide_batch(MegatronPlan& plan, std::int64_t batch) {
  const std::int64_t round = std::int64_t{plan.replicas} * plan.spec.micro_batch;
  if (batch % round != 0) {
    return Error{"model.global_batch: found " + std::to_string(batch) + ", expected a multiple of " +
                     std::to_string(round) + ": " + counted(plan.replicas, "replica") + " x micro_batch " +
                     std::to_string(plan.spec.micro_batch),
                 "", ""};
  }
  plan.micro_steps = batch / round;
  TRY(check_tasks(plan));
  if (batch % batching_of(plan.spec, plan.ranks()).multiple != 0) {
    return Error{"model.megatron.schedule: found interleaved with " +
                     counted(plan.micro_steps, "micro-batch", "micro-batches") + " per replica (global_batch " +
                     std::to_string(batch) + "), expected a multiple of " + std::to_string(plan.stages) + " stages",
                 "", ""};
  }
  return {};
}

}  // namespace

bool MegatronPlan::syncs_by_block() const {
  const FrameworkSpec::Gradients& gradients = framework.gradients;
  return sharded(2) || (gradients.overlap && gradients.sync != GradientSync::one_shot);
}

std::int64_t MegatronPlan::chunks_of(ModelPart part, std::uint32_t stage) const {
  switch (part) {
    case ModelPart::embedding:
      return stage == 0 ? 1 : 0;
    case ModelPart::blocks:
      return spec.virtual_stages;
    case ModelPart::head:
      return stage + 1 == stages ? 1 : 0;
  }
  CHECK(false) << "part " << static_cast<int>(part);
  return 0;
}

std::int64_t MegatronPlan::parameters_of_stage(std::uint32_t stage) const {
  std::int64_t sum = 0;
  for (const ModelPart part : kModelParts) sum += split.parameters(part) * chunks_of(part, stage);
  return sum;
}
std::int64_t MegatronPlan::tensors_of_stage(std::uint32_t stage) const {
  std::int64_t sum = 0;
  for (const ModelPart part : kModelParts) sum += split.tensors(part) * chunks_of(part, stage);
  return sum;
}
double MegatronPlan::forward_flops_of_stage(std::uint32_t stage) const {
  double sum = 0;
  for (const ModelPart part : {ModelPart::blocks, ModelPart::embedding, ModelPart::head})
    sum += split.forward_flops(part) * static_cast<double>(chunks_of(part, stage));
  return sum;
}

Batching batching_of(const MegatronSpec& spec, std::uint32_t ranks) {
  const auto replicas = static_cast<std::uint32_t>(std::max<std::int64_t>(1, ranks / (spec.tensor * spec.pipeline)));
  const std::int64_t together = spec.schedule == PipelineSchedule::interleaved ? spec.pipeline : 1;
  return {replicas, replicas * spec.micro_batch * together};
}

Result<MegatronPlan> plan_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                                   std::int64_t batch) {
  const MegatronSpec& spec = model.as<MegatronSpec>();
  TRY(check_gpus(spec, cluster.ranks()));
  TRY(check_bytes(spec, static_cast<double>(spec.micro_batch)));
  TRY(check_experts(spec));
  MegatronPlan plan{.model = model,
                    .spec = spec,
                    .framework = framework,
                    .cluster = cluster,
                    .numerics = numerics_of(model.precision, framework)};
  plan.tensor = static_cast<std::uint32_t>(spec.tensor);
  plan.expert = static_cast<std::uint32_t>(spec.expert);
  plan.stages = static_cast<std::uint32_t>(spec.pipeline);
  plan.replicas = batching_of(spec, plan.ranks()).replicas;
  plan.split = split_layers(spec, spec.micro_batch, plan.context());
  TRY(divide_batch(plan, batch));
  plan.pipeline = {spec.schedule, plan.stages, static_cast<std::uint32_t>(spec.virtual_stages), plan.micro_steps};
  TRY(check_bytes(spec, static_cast<double>(plan.micro_steps * spec.micro_batch)));
  return plan;
}

}  // namespace distsim::workload
