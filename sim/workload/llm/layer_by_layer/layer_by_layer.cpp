#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"

#include <algorithm>
#include <utility>

#include "base/text/counted.hpp"
#include "sim/workload/graph/data_parallel.hpp"
#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"
#include "sim/workload/llm/layer_by_layer/transformers_layers.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

bool is_whole(const ParallelSpec& p, const FrameworkSpec& framework, std::uint32_t ranks) {
  const StateSplit shard = p.shard == StateSplit::automatic ? framework.parallel.shard : p.shard;
  const bool stays =
      p.offload == Offload::none || (p.offload == Offload::automatic && framework.parallel.offloads == Offload::none);
  return p.tensor == 1 && p.context == 1 && p.pipeline == 1 && p.expert == 1 && p.expert_tensor <= 1 &&
         (p.data == 0 || p.data == ranks) && shard == StateSplit::none && stays;
}

/// In the order that a pass over all layers has, of which none is left out.
bool has_plain_order(const ParallelSpec& p, std::int64_t layers) {
  const bool plain = p.schedule == PipelineSchedule::automatic || p.schedule == PipelineSchedule::gpipe ||
                     p.schedule == PipelineSchedule::one_f_one_b;
  return plain && (p.stage_layers.empty() || p.stage_layers == std::vector{layers});
}

bool repeats_whole_blocks(const Recompute& r, std::int64_t layers) {
  return r.kind == RecomputeKind::automatic || r.kind == RecomputeKind::none ||
         (r.kind == RecomputeKind::full && r.layers <= layers);
}

std::int64_t recomputed_of(const ModelSpec& model) {
  const Recompute& r = model.parallel.recompute;
  if (r.kind != RecomputeKind::full) return 0;
  return r.layers > 0 ? r.layers : model.as<LlmSpec>().layers;
}

/// With the micro-steps of parallel.micro_batch, where it is given.
Result<SamplePlan> in_micro_batches(const ModelSpec& model, SamplePlan samples) {
  const std::int64_t size = model.parallel.micro_batch;
  if (!model.parallel.states_micro_batch) return samples;
  const std::int64_t each = samples.total / samples.ranks;
  if (samples.total % samples.ranks == 0 && each % size == 0) {
    samples.micro_steps = each / size;
    return samples;
  }
  return Error{"parallel.micro_batch: found " + std::to_string(size) +
                   ", expected a divisor of the samples of a GPU (" + std::to_string(samples.total) + " on " +
                   counted(samples.ranks, "GPU") + ")",
               "", ""};
}

FrameworkSpec with_overlap(const ModelSpec& model, FrameworkSpec framework) {
  framework.gradients.overlap = is_on(model.parallel.overlap_gradients, framework.gradients.overlap);
  return framework;
}

/// Masked tokens have no meaning to a forward pass alone: an encoder then has a classifier.
std::vector<Layer> played_layers_of(const ModelSpec& model, const LlmSpec& spec, std::int64_t samples,
                                    const LayerContext& context) {
  if (spec.model_type == LlmClass::none) return llm_layers(spec, samples, context, recomputed_of(model));
  return transformers_layers(spec, samples, context, recomputed_of(model), mode_of(model) != StepMode::inference);
}

/// Of one of `samples`, as blocks count them.
SampleFlops flops_of_sample(const ModelSpec& model, const FrameworkSpec& framework, std::int64_t samples) {
  ParallelSpec parallel = model.parallel;
  parallel.virtual_stages = 1;
  const ModelFlops all = model_flops(model, framework, parallel, samples, {model.as<LlmSpec>().layers});
  return {all.forward / static_cast<double>(samples), all.repeated / static_cast<double>(samples)};
}

/// Of all passes over some layers.
double flops_of_passes(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) {
    const double forward = matrix_flops(layer.forward);
    sum += forward + matrix_flops(layer.backward) + (layer.block == Layer::kNoBlock ? 0 : forward);
  }
  return sum;
}

}  // namespace

bool is_layer_by_layer(const ModelSpec& model, const FrameworkSpec& framework, std::uint32_t ranks) {
  const LlmSpec spec = as_run<LlmSpec>(model);
  return framework.parallel.layer_by_layer && is_whole(model.parallel, framework, ranks) &&
         has_plain_order(model.parallel, spec.layers) && repeats_whole_blocks(model.parallel.recompute, spec.layers) &&
         has_plain_layers(spec) && !spec.packs_documents();
}

Result<Workload> build_layer_by_layer(const ModelSpec& model, const FrameworkSpec& given, const ClusterShape& cluster,
                                      const SamplePlan& all_samples) {
  TRY_ASSIGN(const LlmSpec spec, as_batched(as_run<LlmSpec>(model), given));
  TRY_ASSIGN(const SamplePlan samples, in_micro_batches(model, all_samples));
  TRY(check_weights_and_activations(model, spec, samples.micro_step(0).largest(), samples.total));
  const FrameworkSpec framework = with_overlap(model, given);
  const LayerContext context = layer_context(model, framework);
  DataParallelModel parts;
  parts.layers = [&](std::int64_t n) { return played_layers_of(model, spec, n, context); };
  parts.flops = flops_of_sample(model, framework, samples.micro_step(0).largest());
  // Token ids, and of an encoder types, mask and labels, as int64.
  parts.input_bytes_per_sample = static_cast<double>(spec.sequence) * 8 * (spec.encoder ? 4 : 2);
  TRY_ASSIGN(Workload out, build_data_parallel(model, framework, cluster, samples, parts));
  if (auto text = too_many_mean_tokens(model.as<LlmSpec>()))
    out.assumptions.push_back({graph::AssumptionKind::workload, std::move(*text)});
  return out;
}

Result<RankNeeds> needs_layer_by_layer(const ModelSpec& model, const FrameworkSpec& framework,
                                       const SamplePlan& all_samples) {
  TRY_ASSIGN(const LlmSpec spec, as_batched(as_run<LlmSpec>(model), framework));
  TRY_ASSIGN(const SamplePlan samples, in_micro_batches(model, all_samples));
  const std::int64_t largest = samples.micro_step(0).largest();
  TRY(check_weights_and_activations(model, spec, largest, samples.total));
  const std::vector<Layer> layers = played_layers_of(model, spec, largest, layer_context(model, framework));
  const double steps = static_cast<double>(samples.total / samples.ranks) / static_cast<double>(largest);
  return RankNeeds{{memory_of_layers(layers, model, framework, samples.ranks)}, 1, flops_of_passes(layers) * steps};
}

}  // namespace distsim::workload
