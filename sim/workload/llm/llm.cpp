// The family of language models: dense, with experts, of Mamba-2 layers; split over GPUs as the section parallel says.
#include <algorithm>
#include <string>

#include "base/text/counted.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"
#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"
#include "sim/workload/llm/llm_emission.hpp"
#include "sim/workload/llm/llm_fitting.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

std::string batch_text(std::int64_t batch, std::int64_t replicas, std::int64_t micro_steps, std::int64_t samples) {
  return "batch " + std::to_string(batch) + ": " + counted(static_cast<std::uint64_t>(replicas), "replica") +
         (replicas == 1 ? " runs " : " run ") + counted(static_cast<std::uint64_t>(micro_steps), "micro-step") +
         " of " + counted(static_cast<std::uint64_t>(samples), "sample");
}

/// A pipeline's warm-up and its first rounds differ from those that follow; every further round, of as many
/// micro-batches as stages, adds what the slowest stage takes for it. gpipe keeps what it has played.
constexpr std::int64_t kPlayedRounds = 4;
/// Both ends of dualpipe feed it: where hosts are the limit their two warm-ups meet only in the seventh round.
constexpr std::int64_t kPlayedRoundsBothWays = 8;

MicroBatches micro_batches_of(const ModelSpec& model, std::uint32_t ranks, std::int64_t batch) {
  const ParallelSpec& p = model.parallel;
  const std::int64_t replicas = batching_of(p, ranks).replicas,
                     at_once = std::max<std::int64_t>(1, replicas * p.micro_batch);
  const std::int64_t steps = batch / at_once;  // none of a batch that is too small, which is refused later
  const bool folds = p.pipeline > 1 && mode_of(model) != StepMode::inference && p.schedule != PipelineSchedule::gpipe &&
                     batch % at_once == 0 && steps % p.pipeline == 0;
  const std::int64_t rounds = p.schedule == PipelineSchedule::dualpipe ? kPlayedRoundsBothWays : kPlayedRounds;
  return {steps, folds ? p.pipeline : std::max<std::int64_t>(1, steps), folds ? rounds * p.pipeline : steps,
          batch_text(batch, replicas, steps, p.micro_batch)};
}

std::string pipeline_text(const LlmPlan& plan) {
  const std::int64_t chunks = plan.parallel.virtual_stages;
  PipelineShape whole = plan.pipeline;
  if (plan.parallel.of_micro_batches > 0) whole.micro_batches = plan.parallel.of_micro_batches;
  std::string bubble = std::to_string(ideal_bubble(whole) * 100);
  bubble.resize(bubble.find('.') + 2);
  return "pipeline, " + std::string(name_of(plan.parallel.schedule)) + ": " + counted(plan.stages, "stage") +
         (chunks > 1 ? " of " + counted(static_cast<std::uint64_t>(chunks), "chunk") : "") + "; with equal stages" +
         (plan.pipeline.splits_backward() ? ", passes of equal length (forward, inputs, weights)" : "") +
         " and free messages the bubble would be " + bubble + " % of an iteration; it counts as idle time";
}

std::string placement_text(const LlmPlan& plan) {
  std::string text = "tensor " + std::to_string(plan.tensor);
  if (plan.parallel.sequence_parallel) text += " with sequence parallel";
  if (plan.context > 1) text += ", context " + std::to_string(plan.context);
  if (plan.spec.experts > 0)
    text += ", expert " + std::to_string(plan.expert) + " x expert_tensor " + std::to_string(plan.expert_tensor);
  if (plan.pipelined()) text += ", pipeline " + std::to_string(plan.stages);
  text += ", data " + std::to_string(plan.data);
  if (plan.grid.order() != RankOrder::tp_cp_ep_dp_pp) text += ", order " + std::string(name_of(plan.grid.order()));
  text += ", shard " + std::string(name_of(plan.parallel.shard));
  if (plan.shard_group < plan.replicas()) text += " in groups of " + std::to_string(plan.shard_group);
  return text + ", recompute " + text_of(plan.parallel.recompute) + "\n";
}

void describe(Workload& out, const LlmPlan& plan, std::int64_t batch) {
  out.samples = static_cast<double>(batch);
  const bool infers = mode_of(plan.model) == StepMode::inference;
  const double passes = infers ? 1 : plan.spec.training == LlmTraining::lora ? 2 : 3;
  const ModelFlops flops = model_flops(plan);
  const double micro_batches = static_cast<double>(plan.micro_steps) * plan.data;
  out.model_flops = passes * flops.forward * micro_batches;
  out.repeated_flops = infers ? 0 : flops.repeated * micro_batches;
  out.precision = plan.model.precision;
  out.dense_parameters = static_cast<std::int64_t>(parameters_of(plan.spec).all);
  const auto assume = [&](graph::AssumptionKind kind, std::string text) {
    out.assumptions.push_back({kind, std::move(text)});
  };
  assume(graph::AssumptionKind::batch, batch_text(batch, plan.data, plan.micro_steps, plan.parallel.micro_batch));
  if (plan.pipelined()) assume(graph::AssumptionKind::workload, pipeline_text(plan));
  if (plan.pipelined() && plan.parallel.shard == StateSplit::weights)
    assume(graph::AssumptionKind::workload,
           "parallel.shard: the weights of a stage are gathered once an iteration and stay until its end");
  if (plan.spec.experts > 0 && plan.spec.imbalance == 0)
    assume(graph::AssumptionKind::workload, "tokens are spread evenly over experts");
  if (plan.spec.experts > 0 && plan.spec.imbalance > 0)
    assume(
        graph::AssumptionKind::workload,
        "model.llm.imbalance: all wait for the GPU with the most loaded expert, whose other experts have the average load");
  if (plan.framework.parallel.layer_by_layer && has_plain_layers(as_run<LlmSpec>(plan.model)))
    assume(
        graph::AssumptionKind::workload,
        "played by blocks, without the small kernels that " + plan.framework.name +
            " has layer by layer where nothing is split or packed; to compare: framework.parallel.layer_by_layer=false");
  if (plan.spec.attention == LlmAttention::window && plan.framework.kernels.attention != AttentionKernels::flash)
    assume(graph::AssumptionKind::workload,
           "model.llm.window: the attention of " + plan.framework.name +
               " computes all scores and masks those outside; a flash kernel would leave them out");
  for (const std::string& text : plan.assumptions) assume(graph::AssumptionKind::workload, text);
  out.placement = placement_text(plan);
}

/// Errors where memory does not suffice say what would fit.
Result<Workload> build_whole(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                             const SamplePlan& samples) {
  Result<Workload> out = build_layer_by_layer(model, framework, cluster, samples);
  if (out.ok() || !model.memory_check) return out;
  TRY_ASSIGN(const RankNeeds needs, needs_layer_by_layer(model, framework, samples));
  if (check_memory(needs.memory, cluster.ranks(), cluster.memory_per_gpu).ok()) return out;
  return Error{out.error().what, out.error().where, changes_that_fit(model, framework, cluster, samples.total)};
}

/// A pipeline whose backward passes are cut in two, or which runs both ways, has none without backward passes.
Result<void> check_mode(const ModelSpec& model) {
  const PipelineSchedule schedule = model.parallel.schedule;
  const bool split = schedule == PipelineSchedule::zero_bubble || schedule == PipelineSchedule::dualpipe;
  if (mode_of(model) != StepMode::inference || !split) return {};
  return Error{"parallel.schedule: found " + std::string(name_of(schedule)) +
                   ", expected gpipe, 1f1b or interleaved for model.mode: inference",
               "", ""};
}

Result<Workload> build_llm(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                           const SamplePlan& samples) {
  TRY(check_mode(model));
  if (is_layer_by_layer(model, framework, cluster.ranks())) return build_whole(model, framework, cluster, samples);
  TRY_ASSIGN(const LlmPlan plan, plan_llm(model, framework, cluster, samples.total));
  Workload out;
  out.memory = memory_of(plan);
  if (const Result<void> fits = check_or_assume(out, model, plan.ranks(), cluster.memory_per_gpu); !fits.ok())
    return Error{fits.error().what, fits.error().where, changes_that_fit(model, framework, cluster, samples.total)};
  describe(out, plan, samples.total);
  TRY_ASSIGN(out.graph, emit_llm(plan));
  return out;
}

/// Of the stage with most products and attention.
double flops_of_busiest(const LlmPlan& plan) {
  const bool infers = mode_of(plan.model) == StepMode::inference;
  double most = 0;
  for (std::uint32_t s = 0; s < plan.stages; ++s) {
    double sum = 0;
    for (std::uint32_t c = 0; c < plan.pipeline.chunks(); ++c) {
      const PartWork& work = plan.chunk_of_stage(s, c).work;
      sum += work.forward.matrix_flops() + (infers ? 0 : work.backward.matrix_flops());
    }
    most = std::max(most, sum);
  }
  return most * static_cast<double>(plan.micro_steps) / plan.pipeline.copies();
}

Result<RankNeeds> needs_of(const ModelSpec& model, const FrameworkSpec& framework, const ClusterShape& cluster,
                           std::int64_t batch) {
  if (is_layer_by_layer(model, framework, cluster.ranks())) {
    TRY_ASSIGN(const SamplePlan samples, plan_samples(model, cluster.ranks()));
    return needs_layer_by_layer(model, framework, samples);
  }
  TRY_ASSIGN(const LlmPlan plan, plan_llm(model, framework, cluster, batch));
  return RankNeeds{memory_of_stages(plan), plan.grid.alike(), flops_of_busiest(plan)};
}

Result<std::optional<graph::PipelineOrder>> pipeline_order_of(const ModelSpec& model, const FrameworkSpec& framework,
                                                              const ClusterShape& cluster, std::int64_t batch) {
  if (is_layer_by_layer(model, framework, cluster.ranks())) return std::optional<graph::PipelineOrder>();
  TRY_ASSIGN(const LlmPlan plan, plan_llm(model, framework, cluster, batch));
  return plan.pipelined() ? std::optional(order_of_tasks(plan)) : std::nullopt;
}

constexpr Refusal kRefuses[] = {
    {"{heads: 7}", "model.llm.heads"},
    {"{heads: 16, kv_heads: 3}", "model.llm.kv_heads"},
    {"{attention: window}", "model.llm.window"},
    {"{attention: mla}", "model.llm.kv_lora"},
    {"{experts: 1}", "model.llm.top_k"},
    {"{experts: 8, top_k: 2, router: capacity, capacity: 5}", "model.llm.capacity"},
    {"{layers: 4, experts: 8, dense_layers: 4}", "model.llm.dense_layers"},
    {"{layers: 4, experts: 8, expert_every: 5}", "model.llm.expert_every"},
    {"{layers: 3, pattern: \"M*\"}", "model.llm.pattern"},
    {"{layers: 1, pattern: \"M\"}", "model.llm.mamba_heads"},
    {"{layers: 2, pattern: \"*-\", experts: 8}", "model.llm.experts"},
    {"{layers: 2, decoder_layers: 2}", "model.llm.decoder_layers"},
    {"{layers: 2, decoder_sequence: 64}", "model.llm.decoder_sequence"},
    {"{layers: 2, decoder_layers: 1, encoder: true}", "model.llm.decoder_layers"},
    {"{layers: 2, decoder_layers: 1, mtp_layers: 1}", "model.llm.decoder_layers"},
    {"{layers: 2, decoder_layers: 1, pattern: \"*-\"}", "model.llm.decoder_layers"},
    {"{encoder: true, sequence: 128, predictions: 200}", "model.llm.predictions"},
    {"{predictions: 20}", "model.llm.predictions"},
    {"{sequence: 0}", "model.llm.sequence"},
};

/// Of models with experts: what launching their products one by one, waiting for the counts of tokens and unequal loads
/// cost differs between releases of one framework by up to three times. With it the ranges hold 69 % of 71 published steps.
constexpr double kExpertsRange = 0.45;

}  // namespace

extern const ModelFamily llm_family;
constinit const ModelFamily llm_family{
    .name = "llm",
    .sentence =
        "Language model, dense, with experts or of Mamba-2 layers: tensor, context, pipeline, expert and sharded data parallel",
    .refuses = kRefuses,
    .add_section = [](Schema<ModelSpec>& s) { add_section(s, llm_schema()); },
    .build = build_llm,
    .batching = [](const ModelSpec& model, std::uint32_t ranks) { return batching_of(model.parallel, ranks); },
    .layout_sets_steps =
        [](const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks) {
          return !is_layer_by_layer(model, framework, ranks) && !keeps_stated_steps(model, framework);
        },
    .tokens_per_sample = [](const ModelSpec& model) { return model.as<LlmSpec>().sample_tokens(); },
    .own_range = [](const ModelSpec& model) { return model.as<LlmSpec>().experts > 0 ? kExpertsRange : 0; },
    .micro_batches = micro_batches_of,
    .needs = needs_of,
    .pipeline_order = pipeline_order_of,
};

}  // namespace distsim::workload
