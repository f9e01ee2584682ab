// The figures of a prediction at the price of a plan's ten thousand.
#include <algorithm>
#include <optional>
#include <utility>

#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/fold.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/graph/memory.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::pipeline {
namespace {

using config::Experiment;
using workload::RankMemory;

/// Of all that is played; nothing where it cannot be played as a loop.
Result<std::optional<report::Report>> figures_of(const Experiment& e, const std::shared_ptr<const CostModels>& models,
                                                 report::Transfers transfers) {
  auto built = at_its_place(workload::build_workload(e.model, e.framework, shape_of(e)), e);
  if (!built.ok()) return first_reason(e, *models, built.error());
  workload::Workload work = *std::move(built);
  report::ReportContext context = report_context_of(e, work);
  context.assumptions = std::move(work.assumptions);
  TRY_ASSIGN(graph::CostedGraph costed, price_experiment(e, std::move(work.graph), models));
  const KernelTime factors = kernel_time_of(e, work);
  TRY(scale_kernels(costed, factors, held_clock(costed, factors)));
  if (!has_kernels(costed)) context.uncertainty = 0;
  TRY_ASSIGN(const auto steady, SteadyLoop::play(costed, *models, e));
  if (!steady) return std::optional<report::Report>();
  return std::optional(report::figures_of(steady->played(), std::move(context), transfers));
}

Result<report::Report> figures_of_report(const Experiment& e, CostModelCache& cache) {
  Passes passes;
  TRY_ASSIGN(Prediction p, predict(e, passes, cache, kPlayedMicroSteps, report::Detail::figures));
  return std::move(p.report);
}

/// Nothing where the family does not say.
Result<std::optional<workload::RankNeeds>> needs_of(const Experiment& e) {
  if (e.model.family->needs == nullptr) return std::optional<workload::RankNeeds>();
  TRY_ASSIGN(workload::RankNeeds needs, at_its_place(workload::needs_of(e.model, e.framework, shape_of(e)), e));
  return std::optional(std::move(needs));
}

/// Before anything is written down: what would fit instead is not looked for.
Result<void> check_needs(const Experiment& e) {
  if (!e.model.memory_check) return {};
  TRY_ASSIGN(const auto needs, needs_of(e));
  if (!needs) return {};
  return workload::check_memory(needs->memory, shape_of(e).ranks(), shape_of(e).memory_per_gpu, needs->each);
}

RankMemory fullest_of(const std::vector<RankMemory>& memory) {
  return *std::ranges::max_element(memory, {}, [](const RankMemory& m) { return m.total(); });
}

}  // namespace

Result<report::Report> predict_figures(const Experiment& e, CostModelCache& cache, report::Transfers transfers) {
  TRY_ASSIGN(const auto models, at_its_place(cache.models({e.cluster, e.device, collective_options_of(e)}), e));
  if (const auto needs = check_needs(e); !needs.ok()) return first_reason(e, *models, needs.error());
  using Figures = std::optional<report::Report>;
  TRY_ASSIGN(PlayedParts<Figures> parts,
             play_parts<Figures>(
                 e, kPlayedMicroSteps, [&](const Experiment& part) { return figures_of(part, models, transfers); },
                 [](const Figures& a, const Figures& b) { return !a || !b || report::is_linear(*a, *b); }));
  if (!parts.longer || (parts.folds && !*parts.shorter)) return figures_of_report(e, cache);
  report::Report& longer = *parts.longer;
  if (!parts.folds) return std::move(longer);
  const report::Report& shorter = **parts.shorter;
  TRY(report::check_foldable(shorter, longer, parts.folds->more));
  report::ReportContext whole = folded_context(parts.folds->whole, longer.context);
  report::Report out = report::fold_micro_steps(shorter, longer, parts.folds->more, std::move(whole));
  out.ranks = {{out.compute, out.comm, out.hidden_comm, out.exposed_comm, out.waiting, out.host_bound, out.idle}};
  return out;
}

Result<LayoutBounds> layout_bounds(const Experiment& e) {
  TRY_ASSIGN(const auto needs, needs_of(e));
  LayoutBounds out;
  if (needs) {
    out.memory = fullest_of(needs->memory);
    const double peak = peak_flops(e.device, e.model.precision);
    if (peak > 0) {
      TRY_ASSIGN(out.least, Duration::from_seconds(needs->flops / peak));
    }
  } else {
    Experiment unchecked = e;
    unchecked.model.memory_check = false;
    TRY_ASSIGN(const workload::Workload work,
               at_its_place(workload::build_workload(unchecked.model, e.framework, shape_of(unchecked)), e));
    out.memory = fullest_of(work.memory);
  }
  out.fits = out.memory.total() <= shape_of(e).memory_per_gpu.value();
  return out;
}

}  // namespace distsim::pipeline
