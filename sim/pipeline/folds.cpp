#include "sim/pipeline/folds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/counted.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/specs/samples.hpp"

namespace distsim::pipeline {
namespace {

using config::Experiment;

/// Micro-steps of two sizes are all played, up to three blocks of them: none is like the last one. Of more, some blocks are.
constexpr std::int64_t kBlock = 64;

bool equal_micro_steps(const workload::SamplePlan& plan) { return plan.total % (plan.ranks * plan.micro_steps) == 0; }

/// The same experiment with fewer micro-steps, each as large as the first of the whole.
Experiment with_micro_steps(Experiment e, const workload::SamplePlan& whole, std::int64_t steps) {
  e.model.global_batch = whole.micro_step(0).total() * steps;
  e.model.per_gpu_batch = 0;
  e.model.accumulation = steps;
  return e;
}

/// A pipeline's iteration of `all` micro-batches, of which only the first rounds are played.
Experiment with_micro_batches(Experiment e, std::int64_t samples_of_one, std::int64_t micro_batches, std::int64_t all) {
  e.model.global_batch = samples_of_one * micro_batches;
  e.model.per_gpu_batch = 0;
  e.model.parallel.of_micro_batches = all;
  return e;
}

Whole whole_of(const workload::SamplePlan& plan, std::int64_t played) {
  const auto simulated = static_cast<std::uint64_t>(played), all = static_cast<std::uint64_t>(plan.micro_steps);
  return {double(plan.total), double(plan.micro_steps) / double(played), plan.describe(),
          fmt::format("{} of {} {}", simulated, counted(all, "micro-step"), agreeing(simulated, "is", "are"))};
}

/// Of M micro-steps a rank's first a hold a sample more than the others. S + B of them are played, of which the blocks of B have
/// as nearly as can be the share a/M of larger ones, and the S what is left over: the whole is S + (more + 1) B. The share of a
/// block is off by at most 1/(2B), that of the whole by less.
Folds unequal_folds(const Experiment& e, const workload::SamplePlan& whole, std::int64_t block) {
  const std::int64_t steps = whole.micro_steps, rank = whole.total / whole.ranks, left = whole.total % whole.ranks;
  const std::int64_t least = rank / steps, larger = rank % steps;
  const std::int64_t rest = steps % block + block, blocks = (steps - rest) / block;
  const std::int64_t in_block =
      std::llround(static_cast<double>(larger) * static_cast<double>(block) / static_cast<double>(steps));
  const std::int64_t in_rest = std::clamp<std::int64_t>(larger - blocks * in_block, 0, rest);
  const auto part = [&](std::int64_t played, std::int64_t larger_ones) {
    Experiment out = e;
    out.model.global_batch = whole.ranks * (least * played + larger_ones) + left;
    out.model.per_gpu_batch = 0;
    out.model.accumulation = played;
    return out;
  };
  Folds out{part(rest, in_rest), part(rest + block, in_rest + in_block), blocks - 1, whole_of(whole, rest + block),
            block};
  out.whole.parts = static_cast<double>(whole.total) / static_cast<double>(out.longer.model.global_batch);
  out.whole.mixed = true;
  out.whole.played_parts = fmt::format("{} of {}, of both sizes, are", rest + block,
                                       counted(static_cast<std::uint64_t>(steps), "micro-step"));
  return out;
}

Whole whole_of(const workload::MicroBatches& all, std::int64_t batch) {
  return {double(batch), double(all.count) / double(all.played), all.text,
          fmt::format("{} of {} are", all.played,
                      counted(static_cast<std::uint64_t>(all.count), "micro-batch", "micro-batches"))};
}

}  // namespace

report::ReportContext folded_context(const Whole& whole, report::ReportContext context) {
  context.samples = whole.samples;
  context.model_flops *= whole.parts;
  context.repeated_flops *= whole.parts;
  std::erase_if(context.assumptions, [](const graph::Assumption& a) { return a.kind == graph::AssumptionKind::batch; });
  context.assumptions.insert(context.assumptions.begin(), {graph::AssumptionKind::batch, whole.batch});
  context.assumptions.push_back({graph::AssumptionKind::folding, whole.played_parts +
                                                                     " simulated, the others assumed to be like " +
                                                                     (whole.mixed ? "them" : "the last of them")});
  return context;
}

Result<std::optional<Folds>> folds_of(const Experiment& e, std::int64_t played, std::int64_t stretch) {
  if (played == kAllMicroSteps) return std::optional<Folds>();
  const std::uint32_t ranks = shape_of(e).ranks();
  if (auto plain = workload::without_idle_accumulation(e.model, e.framework, ranks)) {
    Experiment other = e;
    other.model = *std::move(plain);
    return folds_of(other, played, stretch);
  }
  if (e.model.family->micro_batches != nullptr && e.model.accumulation == 1) {
    const std::int64_t batch = workload::samples_of(e.model, ranks);
    workload::MicroBatches whole = e.model.family->micro_batches(e.model, ranks, batch);
    whole.played += (stretch - 1) * whole.played / whole.round * whole.round;
    if (batch > 0 && whole.count > 2 * whole.played) {
      const std::int64_t one = batch / whole.count;
      return std::optional(Folds{with_micro_batches(e, one, whole.played - whole.round, whole.count),
                                 with_micro_batches(e, one, whole.played, whole.count),
                                 (whole.count - whole.played) / whole.round, whole_of(whole, batch)});
    }
  }
  played *= stretch;
  if (e.model.accumulation <= played) return std::optional<Folds>();
  TRY_ASSIGN(const workload::SamplePlan whole, workload::plan_samples(e.model, ranks));
  if (!equal_micro_steps(whole)) {
    if (whole.micro_steps <= 3 * kBlock * stretch) return std::optional<Folds>();
    return std::optional(unequal_folds(e, whole, kBlock * stretch));
  }
  return std::optional(Folds{with_micro_steps(e, whole, played - 1), with_micro_steps(e, whole, played),
                             whole.micro_steps - played, whole_of(whole, played)});
}

Result<std::optional<graph::PipelineOrder>> played_pipeline(const Experiment& e, std::int64_t played_micro_steps,
                                                            std::int64_t stretch) {
  if (e.model.family->pipeline_order == nullptr) return std::optional<graph::PipelineOrder>();
  TRY_ASSIGN(const std::optional<Folds> folds, folds_of(e, played_micro_steps, stretch));
  const Experiment& played = folds ? folds->longer : e;
  const workload::ClusterShape cluster = shape_of(played);
  const std::int64_t batch = workload::samples_of(played.model, cluster.ranks());
  TRY_ASSIGN(std::optional<graph::PipelineOrder> order,
             e.model.family->pipeline_order(played.model, played.framework, cluster, batch));
  if (order && folds)
    order->in_iteration = std::llround(static_cast<double>(order->micro_batches) * folds->whole.parts);
  return order;
}

}  // namespace distsim::pipeline
