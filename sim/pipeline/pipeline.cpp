#include "sim/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "opmodels/analytic/flash_attention.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/pipeline/contention/contention.hpp"
#include "sim/pipeline/contention/interference.hpp"
#include "sim/pipeline/correction/graph_correction.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/figures/steady_loop.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/pipeline/network_remarks.hpp"
#include "sim/report/fold.hpp"
#include "sim/report/limits.hpp"
#include "sim/report/steady_state.hpp"
#include "sim/workload/family.hpp"
#include "sim/workload/registry.hpp"
#include "topology/devices/device_doubts.hpp"

namespace distsim::pipeline {
namespace {

using config::Experiment;

// Passes that are one call, as functions from values to a value.

Result<std::shared_ptr<const CostModels>> build_topology(const Experiment& e, CostModelCache& cache) {
  return cache.models({e.cluster, e.device, collective_options_of(e)});
}

Result<workload::Workload> build_workload(const Experiment& e) {
  return at_its_place(workload::build_workload(e.model, e.framework, shape_of(e)), e);
}

Result<workload::Workload> workload_on(const Experiment& e, const CostModels& models) {
  auto out = build_workload(e);
  if (!out.ok()) return first_reason(e, models, out.error());
  return out;
}

Result<Passed<graph::CostedGraph>> scale(graph::CostedGraph costed, const KernelTime& factors) {
  const HeldClock clock = held_clock(costed, factors);
  std::string learned;
  if (factors.graphs_on) {
    TRY_ASSIGN(const auto network, shipped_graph_network());
    TRY_ASSIGN(const auto answer, graph_answer(costed, factors));
    learned = describe(*network, answer);
  }
  TRY(scale_kernels(costed, factors, clock));
  Passed<graph::CostedGraph> out{std::move(costed), {}};
  if (!has_kernels(out.value)) return out;
  if (std::string text = describe(clock, factors.power_limit); !text.empty())
    out.assumptions.push_back({graph::AssumptionKind::kernels, std::move(text)});
  if (!learned.empty()) out.assumptions.push_back({graph::AssumptionKind::kernels, std::move(learned)});
  for (std::string& text : describe(factors, out.value))
    out.assumptions.push_back({graph::AssumptionKind::kernels, std::move(text)});
  return out;
}

Result<engine::Timeline> simulate(const Lowered& lowered) { return engine::evaluate_rows(lowered.program); }

/// The profile's uncertainty is that of iterations whose kernels it corrects: it says nothing of times that were given.
Result<report::Report> analyse(const report::Played& played, const Experiment& e, const workload::Workload& w,
                               std::vector<graph::Assumption> assumptions, report::Detail detail) {
  report::ReportContext context = report_context_of(e, w);
  if (!has_kernels(*played.costed)) context.uncertainty = 0;
  context.assumptions = std::move(assumptions);
  return report::analyse(played, std::move(context), detail);
}

/// What folding needs: the report of one micro-step less, and how many follow the simulated ones.
struct Folding {
  report::Report shorter;
  std::int64_t more = 0;
  report::ReportContext whole;
  std::int64_t block = 1;
};
Result<report::Report> fold(report::Report longer, const std::optional<Folding>& folding) {
  if (!folding) return longer;
  TRY(report::check_foldable(folding->shorter, longer, folding->more));
  return report::fold_micro_steps(folding->shorter, longer, folding->more, folding->whole, folding->block);
}

void append(std::vector<graph::Assumption>& all, const std::vector<graph::Assumption>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Libraries of fused attention that the device does not run, each once.
std::vector<std::string> replaced_libraries(const graph::TaskGraph& graph, const opmodels::OpModels& models) {
  std::vector<std::string> out;
  for (const graph::Op& op : graph.ops) {
    const auto* attention = std::get_if<graph::Attention>(&op);
    const auto runs = attention != nullptr ? opmodels::library_in_place(models.rates(), *attention) : std::nullopt;
    if (!runs) continue;
    std::string text = fmt::format("flash attention of {}: {} does not run {} (framework.kernels.flash_library)",
                                   graph::name_of(*runs), models.device().name, graph::name_of(attention->library));
    if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
  }
  return out;
}

std::vector<graph::Assumption> remarks_of(const CostModels& models, const Experiment& e,
                                          const graph::TaskGraph& graph) {
  std::vector<graph::Assumption> out;
  const std::string &file = e.system, &name = e.cluster.name;
  if (e.collectives.use_curves && !graph.partitions.empty() && !file.empty() && file != name)
    out.push_back(
        {graph::AssumptionKind::collectives,
         fmt::format("cluster.name: measured collectives are those of {}, not of {}, which cluster.system names", name,
                     file)});
  for (std::string& text : replaced_libraries(graph, models.ops))
    out.push_back({graph::AssumptionKind::kernels, std::move(text)});
  for (std::string& text : topology::device_doubts(e.device))
    out.push_back({graph::AssumptionKind::kernels, std::move(text)});
  for (const std::string& text : models.collectives.remarks())
    out.push_back({graph::AssumptionKind::collectives, text});
  return out;
}

/// A program whose steps have the durations that they are played with.
Result<Passed<Lowered>> ready_to_play(const graph::CostedGraph& costed, const CostModels& models, const Experiment& e,
                                      std::uint16_t iterations, Passes& passes) {
  TRY_ASSIGN(Lowered lowered,
             passes.run("lower", lower, costed, launch_model_of(e), lowered_iterations(iterations, e.engine)));
  TRY_ASSIGN(Passed<Lowered> contended, passes.run("contend", contend, std::move(lowered), costed, models, e.engine));
  TRY_ASSIGN(Passed<Lowered> slowed,
             passes.run("interfere", interfere, std::move(contended.value), costed, shared_device_of(models)));
  append(contended.assumptions, slowed.assumptions);
  return Passed<Lowered>{std::move(slowed.value), std::move(contended.assumptions)};
}

/// A program as it was played.
struct SteadyPlay {
  std::shared_ptr<const Lowered> lowered;
  std::shared_ptr<const engine::Timeline> timeline;
  std::vector<graph::Assumption> assumptions;
};

Result<SteadyPlay> play_iterations(const graph::CostedGraph& costed, const CostModels& models, const Experiment& e,
                                   std::uint16_t iterations, Passes& passes) {
  TRY_ASSIGN(Passed<Lowered> ready, ready_to_play(costed, models, e, iterations, passes));
  SteadyPlay out{std::make_shared<const Lowered>(std::move(ready.value)), nullptr, std::move(ready.assumptions)};
  TRY_ASSIGN(engine::Timeline timeline, passes.run("simulate", simulate, *out.lowered));
  out.timeline = std::make_shared<const engine::Timeline>(std::move(timeline));
  return out;
}

/// Whether no more iterations are played. With contention every step of every rank is, which takes microseconds each.
bool is_last(std::uint16_t iterations, const Experiment& e, const engine::Program& program) {
  constexpr std::uint64_t kMostContendedSteps = 400'000;
  if (iterations * 2 > kMostIterations) return true;
  const std::uint64_t steps =
      std::uint64_t{program.ranks} * program.steps.size() * static_cast<std::uint64_t>(e.engine.jobs);
  return e.engine.contended() && steps * 2 > kMostContendedSteps;
}

/// Until the iterations follow each other in a rhythm.
Result<SteadyPlay> play_until_settled(const graph::CostedGraph& costed, const CostModels& models, const Experiment& e,
                                      Passes& passes) {
  for (std::uint16_t iterations = kPlayedIterations;; iterations = static_cast<std::uint16_t>(iterations * 2)) {
    TRY_ASSIGN(SteadyPlay out, play_iterations(costed, models, e, iterations, passes));
    if (is_last(iterations, e, out.lowered->program) ||
        report::is_settled({&costed, &out.lowered->program, &out.lowered->origins, out.timeline.get(), iterations}))
      return out;
  }
}

/// An experiment with all its micro-steps simulated.
Result<Prediction> play(const Experiment& e, Passes& passes, CostModelCache& cache, report::Detail detail) {
  TRY_ASSIGN(const auto models, passes.run("build_topology", build_topology, e, cache));
  TRY_ASSIGN(workload::Workload workload, passes.run("build_workload", workload_on, e, *models));
  const KernelTime factors = kernel_time_of(e, workload);
  std::vector<graph::Assumption> assumptions = workload.assumptions;
  append(assumptions, remarks_of(*models, e, workload.graph));
  TRY_ASSIGN(const std::vector<graph::Assumption> of_network, network_remarks(e, workload.graph, *models));
  append(assumptions, of_network);
  if (std::string host = describe_host(e.framework); !host.empty())
    assumptions.push_back({graph::AssumptionKind::kernels, std::move(host)});

  TRY_ASSIGN(graph::CostedGraph priced, passes.run("price", price_experiment, e, std::move(workload.graph), models));
  TRY_ASSIGN(Passed<graph::CostedGraph> scaled, passes.run("scale", scale, std::move(priced), factors));
  const auto costed = std::make_shared<const graph::CostedGraph>(std::move(scaled.value));
  append(assumptions, scaled.assumptions);

  TRY_ASSIGN(const SteadyPlay steady, play_until_settled(*costed, *models, e, passes));
  append(assumptions, steady.assumptions);
  Prediction out{costed, steady.lowered, steady.timeline, {}, factors.slowest, e.device.calibration.speed_variation};
  TRY_ASSIGN(out.report, passes.run("analyse", analyse, out.played(), e, workload, std::move(assumptions), detail));
  return out;
}

/// The same until the iterations have their rhythm, with no more than the figures of a table: no timeline, no report.
Result<report::Brief> brief_of_steady(const graph::CostedGraph& costed, const CostModels& models, const Experiment& e,
                                      Passes& passes) {
  TRY_ASSIGN(const auto steady, SteadyLoop::play(costed, models, e));
  if (steady) return report::brief_of(steady->played());
  for (std::uint16_t iterations = kPlayedIterations;; iterations = static_cast<std::uint16_t>(iterations * 2)) {
    TRY_ASSIGN(const Passed<Lowered> ready, ready_to_play(costed, models, e, iterations, passes));
    const engine::Program& program = ready.value.program;
    TRY(engine::validate(program));
    const report::Played played{&costed, &program, &ready.value.origins, nullptr, iterations};
    const auto replays = report::Replays::unplayed(played);
    if (!replays) return engine::evaluate_rows(program).error();
    if (is_last(iterations, e, program) || replays->is_settled()) return report::brief_of(*replays);
  }
}

/// As `parts` were played, with the report of the whole.
Result<Prediction> folded(PlayedParts<Prediction> parts, Passes& passes, report::Detail detail) {
  Prediction out = std::move(parts.longer);
  out.stretch = parts.stretch;
  if (!parts.folds) {
    TRY_ASSIGN(out.report, passes.run("fold", fold, std::move(out.report), std::optional<Folding>()));
    return out;
  }
  const Folds& folds = *parts.folds;
  Prediction& less = *parts.shorter;
  if (detail == report::Detail::report && report::lacks_replay(less.report, out.report, folds.more)) {
    for (Prediction* p : {&less, &out})
      p->report = report::analyse(p->played(), std::move(p->report.context), report::Detail::every_limit);
  }
  const std::optional<Folding> folding =
      Folding{std::move(less.report), folds.more, folded_context(folds.whole, out.report.context), folds.block};
  TRY_ASSIGN(out.report, passes.run("fold", fold, std::move(out.report), folding));
  return out;
}

/// The figures of an experiment with all its micro-steps, whose workload may be known.
Result<report::Brief> brief_of(const Experiment& e, CostModelCache& cache, const workload::Workload& work) {
  Passes passes;
  TRY_ASSIGN(const auto models, passes.run("build_topology", build_topology, e, cache));
  TRY_ASSIGN(graph::CostedGraph priced, passes.run("price", price_experiment, e, graph::TaskGraph(work.graph), models));
  TRY_ASSIGN(const Passed<graph::CostedGraph> scaled,
             passes.run("scale", scale, std::move(priced), kernel_time_of(e, work)));
  return brief_of_steady(scaled.value, *models, e, passes);
}

}  // namespace

report::Played Prediction::played() const {
  return {costed.get(), &lowered->program, &lowered->origins, timeline.get(), lowered->iterations};
}

Result<Prediction> predict(const std::string& config, const std::vector<std::string>& sets, Passes& passes) {
  TRY_ASSIGN(const ConfigNode parsed, passes.run("parse", config::parse_experiment, config, sets));
  TRY_ASSIGN(const Experiment experiment, passes.run("resolve", config::resolve, parsed));
  return predict(experiment, passes);
}

Result<Prediction> predict(const Experiment& experiment, Passes& passes) {
  CostModelCache cache;
  return predict(experiment, passes, cache);
}

Result<Prediction> predict(const Experiment& e, Passes& passes, CostModelCache& cache, std::int64_t played,
                           report::Detail detail) {
  CHECK(played >= 2);
  auto played_parts = play_parts<Prediction>(
      e, played, [&](const Experiment& part) { return play(part, passes, cache, detail); },
      [](const Prediction& a, const Prediction& b) { return report::is_linear(a.report, b.report); });
  TRY_ASSIGN(PlayedParts<Prediction> parts, at_its_place(std::move(played_parts), e));
  return folded(std::move(parts), passes, detail);
}

Result<FixedWork> fixed_work_of(const Experiment& e) {
  TRY_ASSIGN(const std::optional<Folds> folds, folds_of(e, kPlayedMicroSteps));
  FixedWork out;
  if (folds) {
    TRY_ASSIGN(out.shorter, build_workload(folds->shorter));
  }
  TRY_ASSIGN(out.longer, build_workload(folds ? folds->longer : e));
  out.samples = folds ? folds->whole.samples : out.longer.samples;
  return out;
}

Result<Figures> predict_figures(const Experiment& e, CostModelCache& cache, const FixedWork& work) {
  // The parts that are played first are those of `work`.
  const auto play = [&, place = 0](const Experiment& part) mutable -> Result<report::Brief> {
    const int now = place++;
    if (now == 0 && work.shorter) return brief_of(part, cache, *work.shorter);
    if (now == (work.shorter ? 1 : 0)) return brief_of(part, cache, work.longer);
    TRY_ASSIGN(const workload::Workload other, build_workload(part));
    return brief_of(part, cache, other);
  };
  TRY_ASSIGN(const auto parts,
             play_parts<report::Brief>(e, kPlayedMicroSteps, play, [](const report::Brief& a, const report::Brief& b) {
               return report::is_linear(a, b);
             }));
  report::Brief brief = parts.longer;
  if (parts.folds) {
    TRY(report::check_foldable(*parts.shorter, brief, parts.folds->more));
    brief = report::fold_micro_steps(*parts.shorter, brief, parts.folds->more);
  }
  const double seconds = brief.iteration.seconds();
  return Figures{brief.iteration, seconds > 0 ? work.samples / seconds : 0, brief.limits.limited_by};
}

}  // namespace distsim::pipeline
