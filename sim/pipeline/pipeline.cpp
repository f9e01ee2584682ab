#include "sim/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include <array>

#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/verify.hpp"
#include "sim/pipeline/contention/contention.hpp"
#include "sim/pipeline/dump.hpp"
#include "sim/pipeline/interference.hpp"
#include "sim/pipeline/kernel_time.hpp"
#include "sim/report/fold.hpp"
#include "sim/workload/dlrm/hybrid_embedding.hpp"
#include "sim/workload/specs/samples.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::array<std::string_view, 8> kSteps{"parse", "resolve", "build_topology", "build_workload",
                                                 "price", "lower",   "simulate",       "analyse"};

workload::ClusterShape shape_of(const config::Experiment& e) {
  return {static_cast<std::uint32_t>(e.cluster.nodes), static_cast<std::uint32_t>(e.cluster.gpus_per_node),
          e.device.hbm.capacity - e.device.reserved_memory};
}

/// A framework's own exchange, unless the experiment says which.
collectives::CollectiveOptions collective_options(const config::Experiment& e) {
  collectives::CollectiveOptions options = e.collectives;
  if (options.exchange != collectives::Exchange::automatic || !e.framework.hierarchical_exchange) return options;
  const bool hybrid = e.model.kind == workload::ModelKind::dlrm &&
                      workload::hybrid_applies(e.model.dlrm, e.framework, shape_of(e).ranks());
  options.exchange = hybrid && e.framework.hybrid_rdma_writes ? collectives::Exchange::rdma_writes
                                                              : collectives::Exchange::hierarchical;
  return options;
}

double peak_flops(const topology::DeviceSpec& device, const std::string& precision) {
  const auto it = device.peak.find(precision);
  return it == device.peak.end() ? 0 : it->second.value();
}

report::ReportContext context_of(const config::Experiment& e, const workload::Workload& w) {
  report::ReportContext c;
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
  for (const workload::RankMemory& m : w.memory) {
    c.memory_per_rank.push_back(m.total());
    c.activations_per_rank.push_back(m.activations);
  }
  c.memory_capacity = (e.device.hbm.capacity - e.device.reserved_memory).value();
  c.assumptions = w.assumptions;
  c.placement = w.placement;
  c.uncertainty = e.framework.uncertainty;
  return c;
}

Result<graph::CostedGraph> price_kernels(graph::TaskGraph graph, std::shared_ptr<const CostModels> models,
                                         const KernelTime& kernel_time) {
  TRY_ASSIGN(graph::CostedGraph costed, price(std::move(graph), std::move(models)));
  TRY(scale_kernels(costed, kernel_time));
  return costed;
}

/// Hardware that is not as it should be, and links that are shared: both change the durations of the program.
Result<void> apply_engine(Lowered& lowered, const graph::CostedGraph& costed, const topology::Topology& topology,
                          const config::EngineSpec& engine, std::vector<std::string>& assumptions) {
  TRY(slow_gpus(lowered, engine));
  TRY_ASSIGN(const std::vector<std::string> slowed, contend(lowered, costed, topology, engine));
  assumptions.insert(assumptions.end(), slowed.begin(), slowed.end());
  return {};
}

/// Plays the program; where collectives run beside kernels, again with each slowed by the other.
Result<engine::Timeline> play_with_interference(Lowered& lowered, const graph::CostedGraph& costed,
                                                const Interference& cost, std::vector<std::string>& assumptions) {
  TRY_ASSIGN(engine::Timeline alone, engine::evaluate_rows(lowered.program));
  TRY_ASSIGN(const LostBeside lost, slow_what_overlaps(lowered, alone, costed, cost));
  if (lost.none()) return alone;
  const auto say = [&](const char* who, const char* other, double rate, Duration time) {
    if (time > Duration())
      assumptions.push_back(fmt::format("overlap slows {} by {:.2f} s per second of {}: {:.3g} ms per iteration", who,
                                        rate, other, time.ms()));
  };
  say("kernels", "transfer", cost.kernels, lost.kernels);
  say("collectives", "kernels", cost.transfers, lost.transfers);
  return engine::evaluate_rows(lowered.program);
}

/// A timeline that breaks a law of sim/engine/verify.hpp is a fault of ours: better none than a wrong one.
void check_laws(const engine::Program& program, const engine::Timeline& timeline) {
  const auto lawful = engine::verify(program, timeline);
  CHECK(lawful.ok()) << lawful.error().text();
}

/// One optimizer step with every micro-step played out.
Result<Prediction> play(const config::Experiment& e, Passes& passes, CostModelCache& cache) {
  const LaunchModel launch{e.framework, e.cluster.host, e.device.launch};
  Prediction out;

  const auto topology_of = [](const std::shared_ptr<const CostModels>& models) {
    return dump_topology(models->topology);
  };
  TRY_ASSIGN(const auto models, passes.run(
                                    "build_topology",
                                    [&] {
                                      return cache.models({e.cluster, e.device, collective_options(e)});
                                    },
                                    topology_of));
  TRY_ASSIGN(workload::Workload workload,
             passes.run(
                 "build_workload", [&] { return workload::build_workload(e.model, e.framework, shape_of(e)); },
                 dump_workload));
  report::ReportContext context = context_of(e, workload);
  for (const std::string& remark : models->collectives.remarks()) context.assumptions.push_back(remark);
  const KernelTime kernel_time = kernel_time_of(e.framework, e.device, workload.precision, shape_of(e).ranks());
  for (std::string& words : describe(kernel_time)) context.assumptions.push_back(std::move(words));
  TRY_ASSIGN(graph::CostedGraph costed,
             passes.run(
                 "price", [&] { return price_kernels(std::move(workload.graph), models, kernel_time); }, dump_costs));
  TRY_ASSIGN(Lowered lowered, passes.run(
                                  "lower", [&] { return lower(costed, launch, kPlayedIterations); }, dump_lowered));
  TRY_ASSIGN(engine::Timeline timeline,
             passes.run(
                 "simulate",
                 [&]() -> Result<engine::Timeline> {
                   TRY(apply_engine(lowered, costed, models->topology, e.engine, context.assumptions));
                   return play_with_interference(
                       lowered, costed, Interference{e.framework.overlap_cost, e.framework.transfer_overlap_cost},
                       context.assumptions);
                 },
                 dump_timeline));
  check_laws(lowered.program, timeline);

  out.slowest = kernel_time.slowest;
  out.speed_variation = e.device.calibration.speed_variation;
  out.costed = std::make_shared<const graph::CostedGraph>(std::move(costed));
  out.lowered = std::make_shared<const Lowered>(std::move(lowered));
  out.timeline = std::make_shared<const engine::Timeline>(std::move(timeline));
  TRY_ASSIGN(
      out.report,
      passes.run(
          "analyse", [&]() -> Result<report::Report> { return report::analyse(out.played(), context); }, dump_report));
  return out;
}

/// The same experiment with fewer micro-steps, each as large as the first of the whole.
config::Experiment with_micro_steps(config::Experiment e, const workload::SamplePlan& whole, std::int64_t steps) {
  e.model.global_batch = whole.micro_step(0).total() * steps;
  e.model.per_gpu_batch = 0;
  e.model.accumulation = steps;
  return e;
}

/// Context of the whole iteration, from that of the micro-steps played.
report::ReportContext folded_context(const workload::SamplePlan& whole, report::ReportContext context,
                                     std::int64_t played) {
  context.samples = double(whole.total);
  context.model_flops *= double(whole.micro_steps) / double(played);
  std::erase_if(context.assumptions, [](const std::string& a) { return a.starts_with("batch "); });
  context.assumptions.insert(context.assumptions.begin(), whole.describe());
  context.assumptions.push_back(std::to_string(played) + " of " + std::to_string(whole.micro_steps) +
                                " micro-steps are simulated, the others assumed to be like the last of them");
  return context;
}

}  // namespace

std::span<const std::string_view> pipeline_steps() { return kSteps; }

report::Played Prediction::played() const {
  return {costed.get(), &lowered->program, &lowered->origins, timeline.get(), lowered->iterations};
}

Result<Prediction> predict(const std::string& config, const std::vector<std::string>& sets, Passes& passes) {
  TRY_ASSIGN(const ConfigNode parsed,
             passes.run(
                 "parse", [&] { return config::parse_experiment(config, sets); }, dump_config));
  TRY_ASSIGN(const config::Experiment experiment,
             passes.run(
                 "resolve", [&] { return config::resolve(parsed); }, dump_experiment));
  return predict(experiment, passes);
}

Result<Prediction> predict(const config::Experiment& experiment, Passes& passes) {
  CostModelCache cache;
  return predict(experiment, passes, cache);
}

Result<Prediction> predict(const config::Experiment& e, Passes& passes, CostModelCache& cache, std::int64_t played) {
  CHECK(played >= 2);
  if (e.model.accumulation <= played) return play(e, passes, cache);
  TRY_ASSIGN(const workload::SamplePlan whole, workload::plan_samples(e.model, shape_of(e).ranks()));
  Passes quiet;
  TRY_ASSIGN(const Prediction shorter, play(with_micro_steps(e, whole, played - 1), quiet, cache));
  TRY_ASSIGN(Prediction longer, play(with_micro_steps(e, whole, played), passes, cache));
  report::ReportContext context = folded_context(whole, longer.report.context, played);
  longer.report =
      report::fold_micro_steps(shorter.report, longer.report, whole.micro_steps - played, std::move(context));
  return longer;
}

}  // namespace distsim::pipeline
