// The family of GPTs split over GPUs: tensor, sequence, expert, pipeline and sharded data parallel.
#include <string>

#include "base/text/counted.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/megatron_emission.hpp"

namespace distsim::workload {
namespace {

std::string batch_text(const MegatronPlan& plan, std::int64_t batch) {
  return "batch " + std::to_string(batch) + ": " + counted(plan.replicas, "replica") +
         (plan.replicas == 1 ? " runs " : " run ") + counted(plan.micro_steps, "micro-step") + " of " +
         counted(plan.spec.micro_batch, "sample");
}

std::string pipeline_text(const MegatronPlan& plan) {
  std::string bubble = std::to_string(ideal_bubble(plan.pipeline) * 100);
  bubble.resize(bubble.find('.') + 2);
  const std::int64_t chunks = plan.spec.virtual_stages;
  return "pipeline, " + std::string(name_of(plan.spec.schedule)) + ": " + counted(plan.stages, "stage") + " of " +
         (chunks > 1 ? std::to_string(chunks) + " x " : "") + counted(plan.spec.chunk_layers(), "block") +
         "; with equal stages and free messages the bubble would be " + bubble +
         " % of an iteration; it counts as idle time";
}

std::string placement_text(const MegatronPlan& plan) {
  return "tensor parallel " + std::to_string(plan.tensor) +
         (plan.spec.sequence_parallel ? " with sequence parallel" : "") + ", expert parallel " +
         std::to_string(plan.expert) + (plan.pipelined() ? ", pipeline parallel " + std::to_string(plan.stages) : "") +
         ", data parallel " + std::to_string(plan.replicas) + ", ZeRO stage " + std::to_string(plan.spec.zero) + "\n";
}

/// Weights of the whole model; a last stage's copy of the word embedding counts once.
std::int64_t parameters_of_model(const MegatronPlan& plan) {
  std::int64_t sum = plan.pipelined() ? -plan.split.tied_elements : 0;
  for (std::uint32_t s = 0; s < plan.stages; ++s) sum += plan.parameters_of_stage(s);
  return sum * plan.tensor;
}

double flops_of_iteration(const MegatronPlan& plan) {
  double forward = 0;
  for (std::uint32_t s = 0; s < plan.stages; ++s) forward += plan.forward_flops_of_stage(s);
  return 3 * forward * static_cast<double>(plan.micro_steps) * plan.ranks_per_stage();
}

void describe(Workload& out, const MegatronPlan& plan, std::int64_t batch) {
  out.samples = static_cast<double>(batch);
  out.model_flops = flops_of_iteration(plan);
  out.precision = plan.model.precision;
  out.dense_parameters = parameters_of_model(plan);
  out.assumptions.push_back({graph::AssumptionKind::batch, batch_text(plan, batch)});
  if (plan.pipelined()) out.assumptions.push_back({graph::AssumptionKind::workload, pipeline_text(plan)});
  if (plan.spec.experts > 0)
    out.assumptions.push_back({graph::AssumptionKind::workload, "tokens are spread evenly over experts"});
  out.placement = placement_text(plan);
}

Result<Workload> build_megatron(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                                const SamplePlan& samples) {
  TRY_ASSIGN(const MegatronPlan plan, plan_megatron(model, framework, cluster, samples.total));
  Workload out;
  out.memory = memory_of(plan);
  TRY(check_or_assume(out, model, plan.ranks(), cluster.memory_per_gpu));
  describe(out, plan, samples.total);
  TRY_ASSIGN(out.graph, emit_megatron(plan));
  return out;
}

constexpr Refusal kRefuses[] = {
    {"{heads: 7}", "model.megatron.heads"},
    {"{heads: 16, tensor: 3}", "model.megatron.tensor"},
    {"{schedule: interleaved}", "model.megatron.schedule"},
    {"{virtual_stages: 2}", "model.megatron.virtual_stages"},
    {"{overlap_p2p: true}", "model.megatron.overlap_p2p"},
    {"{layers: 24, pipeline: 5}", "model.megatron.pipeline"},
    {"{experts: 1}", "model.megatron.top_k"},
    {"{expert: 2}", "model.megatron.expert"},
    {"{micro_batch: 1000}", "model.global_batch"},
};

}  // namespace

extern const ModelFamily megatron_family;
constinit const ModelFamily megatron_family{
    .name = "megatron",
    .sentence = "GPT split over GPUs: tensor, sequence, pipeline, expert and sharded data parallel (ZeRO, FSDP)",
    .refuses = kRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, megatron_schema()); },
    .build = build_megatron,
    .batching = [](const ModelSpec& model,
                   std::uint32_t ranks) { return batching_of(model.as<MegatronSpec>(), ranks); },
    .tokens_per_sample = [](const ModelSpec& model) { return model.as<MegatronSpec>().sequence; },
};

}  // namespace distsim::workload
