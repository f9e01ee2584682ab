#include "sim/study/plan/settled_layout.hpp"

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using workload::LlmPlan;
using workload::ParallelSpec;

Result<LlmPlan> plan_of(const config::Experiment& e) {
  const workload::ClusterShape shape = pipeline::shape_of(e);
  return plan_llm(e.model, e.framework, shape, workload::samples_of(e.model, shape.ranks()));
}

/// In all that memory decides.
bool decides_alike(const LlmPlan& a, const LlmPlan& b) {
  return text_of(a.parallel.recompute) == text_of(b.parallel.recompute) && a.parallel.offload == b.parallel.offload &&
         a.offloaded_activations == b.offloaded_activations && a.offloaded_weights == b.offloaded_weights &&
         a.framework.gradients.each_micro_step == b.framework.gradients.each_micro_step;
}

}  // namespace

std::optional<ParallelSpec> settled_layout(const config::Experiment& e) {
  const Result<LlmPlan> plan = plan_of(e);
  const ParallelSpec& given = e.model.parallel;
  if (!plan) return std::nullopt;
  config::Experiment settled = e;
  ParallelSpec& out = settled.model.parallel;
  out = plan->parallel;
  out.data = 0;
  out.overlap_gradients = given.overlap_gradients;
  out.overlap_parameters = given.overlap_parameters;
  out.overlap_tensor = given.overlap_tensor;
  out.overlap_expert = given.overlap_expert;
  out.overlap_pipeline = given.overlap_pipeline;
  out.expert_dispatch = given.expert_dispatch;
  if (e.model.as<workload::LlmSpec>().experts == 0) out.expert_tensor = given.expert_tensor;
  const auto is_same = [&] {
    const Result<LlmPlan> again = plan_of(settled);
    return again.ok() && decides_alike(*plan, *again);
  };
  if (is_same()) return out;
  out.offload = given.offload;
  if (is_same()) return out;
  out.recompute = given.recompute;
  return out;
}

}  // namespace distsim::study
