#include "sim/app/pipeline.hpp"

#include <array>

#include "sim/app/dump.hpp"
#include "sim/engine/row_evaluator.hpp"
#include "sim/report/fold.hpp"

namespace distsim {
namespace {

constexpr std::array<std::string_view, 8> kSteps{"parse", "resolve", "build_topology", "build_workload", "price", "lower", "simulate", "analyse"};

ClusterShape shape_of(const Experiment& e) {
  return {static_cast<std::uint32_t>(e.cluster.nodes), static_cast<std::uint32_t>(e.cluster.gpus_per_node),
          e.device.hbm.capacity - e.device.reserved_memory};
}

Result<std::shared_ptr<const CostModels>> cost_models(const Experiment& e, Topology topology) {
  TRY_ASSIGN(OpModels ops, OpModels::create(e.device));
  TRY_ASSIGN(CollectiveModels collectives, CollectiveModels::create(topology, e.collectives));
  return std::shared_ptr<const CostModels>(
      std::make_shared<CostModels>(CostModels{std::move(topology), std::move(ops), std::move(collectives)}));
}

double peak_flops(const DeviceSpec& device, const std::string& precision) {
  const auto it = device.peak.find(precision);
  return it == device.peak.end() ? 0 : it->second.value();
}

ReportContext context_of(const Experiment& e, const Workload& w) {
  ReportContext c;
  c.title = e.title;
  c.system = e.cluster.name;
  c.device = e.device.name;
  c.model = e.model.name;
  c.framework = e.framework.name;
  c.nodes = static_cast<std::uint32_t>(e.cluster.nodes);
  c.gpus_per_node = static_cast<std::uint32_t>(e.cluster.gpus_per_node);
  c.samples = w.samples;
  c.model_flops = w.model_flops;
  c.peak_flops = peak_flops(e.device, w.precision);
  for (const RankMemory& m : w.memory) c.memory_per_rank.push_back(m.total());
  c.memory_capacity = (e.device.hbm.capacity - e.device.reserved_memory).value();
  c.assumptions = w.assumptions;
  c.placement = w.placement;
  return c;
}

/// One optimizer step with every micro-step played out.
Result<Prediction> play(const Experiment& e, Passes& passes) {
  const LaunchModel launch{e.framework, e.cluster.host, e.device.launch};
  Prediction out;

  TRY_ASSIGN(Topology topology, passes.run("build_topology", [&] { return Topology::build(e.cluster, e.device.compute_capability); }, dump_topology));
  TRY_ASSIGN(Workload workload, passes.run("build_workload", [&] { return build_workload(e.model, e.framework, shape_of(e)); }, dump_workload));
  const ReportContext context = context_of(e, workload);
  TRY_ASSIGN(const auto models, cost_models(e, std::move(topology)));
  TRY_ASSIGN(CostedGraph costed, passes.run("price", [&] { return price(std::move(workload.graph), models); }, dump_costs));
  TRY_ASSIGN(Lowered lowered, passes.run("lower", [&] { return lower(costed, launch, kPlayedIterations); }, dump_lowered));
  TRY_ASSIGN(Timeline timeline, passes.run("simulate", [&] { return evaluate_rows(lowered.program); }, dump_timeline));

  out.costed = std::make_shared<const CostedGraph>(std::move(costed));
  out.lowered = std::make_shared<const Lowered>(std::move(lowered));
  out.timeline = std::make_shared<const Timeline>(std::move(timeline));
  TRY_ASSIGN(out.report, passes.run("analyse", [&]() -> Result<Report> { return analyse(out.played(), context); }, dump_report));
  return out;
}

/// The same experiment with fewer micro-steps of the same size.
Experiment with_micro_steps(Experiment e, std::int64_t steps) {
  if (e.model.global_batch > 0) e.model.global_batch = e.model.global_batch / e.model.accumulation * steps;
  e.model.accumulation = steps;
  return e;
}

/// Context of the whole iteration, from that of the micro-steps played.
ReportContext folded_context(const Experiment& whole, ReportContext context, std::int64_t played) {
  const double growth = double(whole.model.accumulation) / double(played);
  context.samples = whole.model.global_batch > 0 ? double(whole.model.global_batch) : context.samples * growth;
  context.model_flops *= growth;
  context.assumptions.push_back("accumulation " + std::to_string(whole.model.accumulation) + ": " + std::to_string(played) +
                                " micro-steps are played, the others taken to be like the last of them");
  return context;
}

}  // namespace

std::span<const std::string_view> pipeline_steps() { return kSteps; }

Played Prediction::played() const {
  return {costed.get(), &lowered->program, &lowered->origins, timeline.get(), lowered->iterations};
}

Result<Prediction> predict(const std::string& config, const std::vector<std::string>& sets, Passes& passes) {
  TRY_ASSIGN(const ConfigNode parsed, passes.run("parse", [&] { return parse_experiment(config, sets); }, dump_config));
  TRY_ASSIGN(const Experiment experiment, passes.run("resolve", [&] { return resolve(parsed); }, dump_experiment));
  return predict(experiment, passes);
}

Result<Prediction> predict(const Experiment& e, Passes& passes, std::int64_t played_micro_steps) {
  CHECK(played_micro_steps >= 2);
  if (e.model.accumulation <= played_micro_steps) return play(e, passes);
  Passes quiet;
  TRY_ASSIGN(const Prediction shorter, play(with_micro_steps(e, played_micro_steps - 1), quiet));
  TRY_ASSIGN(Prediction longer, play(with_micro_steps(e, played_micro_steps), passes));
  ReportContext context = folded_context(e, longer.report.context, played_micro_steps);
  longer.report = fold_micro_steps(shorter.report, longer.report, e.model.accumulation - played_micro_steps, std::move(context));
  return longer;
}

}  // namespace distsim
