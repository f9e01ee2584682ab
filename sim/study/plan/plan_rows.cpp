#include "sim/study/plan/plan_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/pipeline/experiment_inputs.hpp"

namespace distsim::study {
namespace {

/// Iterations that are bought.
double iterations_bought(const Purchase& p, const report::Report& r) {
  if (p.samples > 0) return p.samples / std::max(1.0, r.context.samples);
  if (p.tokens <= 0) return 1;
  const double tokens = r.context.samples * std::max(1.0, r.context.tokens_per_sample);
  return p.tokens / std::max(1.0, tokens);
}

/// What decides the rows that a search asks for, and their order.
Identity identity_of(const PlanRequest& request, const ConfigNode& experiment) {
  std::string varied, gpus;
  for (const SweepAxis& axis : request.varied) varied += fmt::format("{}={};", axis.key, fmt::join(axis.values, ","));
  gpus = fmt::format("{}", fmt::join(request.gpus, ","));
  std::string goal(name_of(request.goal.objective));
  if (request.goal.second) goal += "," + std::string(name_of(*request.goal.second));
  Identity out{program_fact(),
               {"--set", fmt::format("{}", fmt::join(request.sets, " "))},
               {"--vary", varied},
               {"--gpus", gpus},
               {"--objective", goal},
               {"--top", std::to_string(request.top)},
               {"--exhaustive", request.exhaustive ? "given" : "not given"},
               {"--draws", std::to_string(request.draws)},
               {"purchase", fmt::format("{} {} {}", request.purchase.price_per_gpu_hour, request.purchase.tokens,
                                        request.purchase.samples)}};
  std::ranges::move(inputs_facts(experiment, values_of(request.sets, request.varied)), std::back_inserter(out));
  return out;
}

std::string machine_text(const config::Experiment& e) {
  return std::to_string(pipeline::shape_of(e).ranks()) + " x " + e.device.name;
}

}  // namespace

std::int64_t fullest_gpu(const report::Report& r) {
  const auto& m = r.context.memory_per_rank;
  return m.empty() ? 0 : *std::ranges::max_element(m);
}

Result<report::Report> predicted_report(const config::Experiment& e, pipeline::CostModelCache& cache) {
  pipeline::Passes passes;
  TRY_ASSIGN(pipeline::Prediction p,
             pipeline::predict(e, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::report));
  return std::move(p.report);
}

bool lacks_memory(config::Experiment e, pipeline::CostModelCache& cache) {
  if (!e.model.memory_check) return false;
  e.model.memory_check = false;
  return predicted_report(e, cache).ok();
}

void fill_costs(PlanRow& row, const PlanRequest& request, const config::Experiment& e) {
  const report::Report& r = row.report;
  row.machine = machine_text(e);
  const double gpus = double(r.context.nodes) * r.context.gpus_per_node,
               bought = iterations_bought(request.purchase, r);
  constexpr double kSecondsPerHour = 3600;
  row.cost = bought * gpus * r.iteration.seconds() / kSecondsPerHour * request.purchase.price_per_gpu_hour;
  const JobSize job{e.device, gpus, std::max(1.0, r.context.samples)};
  const double iteration = r.iteration.seconds(), compute = r.compute.seconds();
  row.energy = bought * energy_of(job, iteration, compute);
  const auto value = [&](Objective objective) { return value_of(objective, job, iteration, compute, fullest_gpu(r)); };
  row.value = value(request.goal.objective);
  if (request.goal.second) row.second = value(*request.goal.second);
  row.fits =
      r.context.memory_capacity == 0 || fullest_gpu(r) <= r.context.memory_capacity;  // with model.memory_check: false
}

bool is_by_blocks(const PlanRow& row) {
  return std::ranges::any_of(row.sets, [](const std::string& set) { return set.starts_with(kLayerByLayer); });
}

std::string subject_text(const config::Experiment& e) { return e.model.shown_name() + " on " + machine_text(e); }

void finish_rows(Plan& plan) {
  const auto place = [](const PlanRow& r) {
    return !r.error.empty() ? 2 : r.kind == PlanRowKind::baseline_apart ? 1 : 0;
  };
  std::ranges::stable_sort(plan.rows, [&](const PlanRow& a, const PlanRow& b) {
    return place(a) != place(b) ? place(a) < place(b) : place(a) < 2 && a.value < b.value;
  });
  for (PlanRow& row : plan.rows) {
    const PlanRow& first = plan.rows.front();
    if (row.error.empty() && first.error.empty() && row.report.iteration > first.report.iteration)
      row.why_slower = why_slower(row.report, first.report);
  }
  const std::string machine = plan.rows.empty() ? "" : plan.rows.front().machine;
  if (!machine.empty() && !plan.subject.ends_with(" on " + machine)) plan.subject += "; the best is on " + machine;
}

PlanRow baseline_row(const PlanRequest& request, const config::Experiment& e, pipeline::CostModelCache& cache) {
  PlanRow row;
  row.kind = PlanRowKind::baseline_apart;
  Result<report::Report> r = predicted_report(e, cache);
  if (r) {
    row.report = std::move(*r);
    fill_costs(row, request, e);
    return row;
  }
  row.fits = !lacks_memory(e, cache);
  row.error = row.fits ? r.error().text() : "memory";
  return row;
}

Result<Plays> plays_of(const PlanRequest& request) {
  if (request.journal.empty() && request.team == nullptr) return Plays::of_threads(request.jobs);
  TRY_ASSIGN(const ConfigNode text, request.experiment->parsed({}));
  return Plays::kept(identity_of(request, text), {request.jobs, request.journal, request.resume, request.team});
}

}  // namespace distsim::study
