#include "sim/study/validate/graph_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/pipeline/correction/graph_correction.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/validate/validate.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::study {
namespace {

constexpr std::array kWays{LeftOut::device, LeftOut::model, LeftOut::device_and_model};

GraphCase graph_case(const CaseFile& file, const Case& c, pipeline::CostModelCache& cache) {
  GraphCase out;
  out.source = &c;
  out.failure = c.failure;
  if (out.failure.empty() && !c.measured_ms) out.failure = "nothing measured";
  if (!out.failure.empty()) return out;
  Result<config::Experiment> e = experiment_of(file, c);
  if (!e.ok()) {
    out.failure = e.error().text();
    return out;
  }
  e->model.as<workload::StepSpec>().corrects_graphs = false;
  out.device = e->device.name;
  out.model = e->model.name;
  out.measured_ms = *c.measured_ms;
  pipeline::Passes passes;
  const auto p = pipeline::predict(*e, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures);
  auto facts = p.ok() ? pipeline::graph_facts_of(*e) : Result<opmodels::GraphFacts>(p.error());
  if (!facts.ok()) {
    out.failure = facts.error().text();
    return out;
  }
  out.composed_ms = p->report.iteration.ms();
  out.failure = why_implausible(c, out.composed_ms, p->report.mfu);
  out.facts = std::move(*facts);
  return out;
}

opmodels::GraphExample example_of(const GraphCase& c) { return {c.facts, std::log(c.measured_ms / c.composed_ms)}; }

bool is_left_out(const GraphCase& c, const GraphCase& predicted, LeftOut what) {
  const bool device = c.device == predicted.device, model = c.model == predicted.model;
  switch (what) {
    case LeftOut::device:
      return device;
    case LeftOut::model:
      return model;
    case LeftOut::device_and_model:
      return device || model;
  }
  return true;
}

/// What one network predicts: all cases of a device, of a model, or of both.
std::pair<std::string, std::string> fold_of(const GraphCase& c, LeftOut what) {
  return {what == LeftOut::model ? "" : c.device, what == LeftOut::device ? "" : c.model};
}

struct ErrorFigures {
  double mean = 0, median = 0, worst = 0;
};

/// A measurement counts once, however often it stands in the file. What is predicted alike is the same job.
void leave_out_repeats(std::vector<GraphCase>& cases) {
  std::map<std::tuple<std::string, std::string, double, double>, const GraphCase*> seen;
  for (GraphCase& c : cases) {
    if (!c.failure.empty()) continue;
    const auto [it, fresh] = seen.emplace(std::tuple(c.device, c.model, c.composed_ms, c.measured_ms), &c);
    if (!fresh)
      c.failure = c.source->where + ": found the experiment and the time of " + it->second->source->where +
                  " again, which count once";
  }
}

ErrorFigures figures_of_errors(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& e : errors) e = std::abs(e);
  std::sort(errors.begin(), errors.end());
  ErrorFigures out;
  for (const double e : errors) out.mean += e / static_cast<double>(errors.size());
  const std::size_t half = errors.size() / 2;
  out.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  out.worst = errors.back();
  return out;
}

std::vector<double> errors_of(const std::vector<GraphCase>& cases, const std::vector<double>& predicted) {
  std::vector<double> out;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (cases[i].failure.empty()) out.push_back(predicted[i] / cases[i].measured_ms - 1);
  return out;
}

std::string row_of_figures(std::string_view name, const ErrorFigures& f) {
  return fmt::format("{:<38}{:>9.1f}%{:>9.1f}%{:>9.1f}%\n", name, 100 * f.mean, 100 * f.median, 100 * f.worst);
}

}  // namespace

std::string_view name_of(LeftOut what) {
  switch (what) {
    case LeftOut::device:
      return "device left out";
    case LeftOut::model:
      return "model left out";
    case LeftOut::device_and_model:
      return "device and model left out";
  }
  return "";
}

std::vector<GraphCase> graph_cases(const CaseFile& file, unsigned jobs) {
  std::vector<GraphCase> out(file.cases.size());
  pipeline::CostModelCache cache;
  const auto predict = [&](std::size_t i) { out[i] = graph_case(file, file.cases[i], cache); };
  for (const std::size_t i : for_each_index(out.size(), jobs, predict, [] {})) {
    out[i].source = &file.cases[i];
    out[i].failure = why_left();
  }
  leave_out_repeats(out);
  return out;
}

std::vector<std::string> contradictions(const std::vector<GraphCase>& cases) {
  struct Ends {
    const GraphCase *fastest, *slowest;
  };
  std::map<std::tuple<std::string, std::string, double>, Ends> of_job;  // what is predicted alike is the same job
  for (const GraphCase& c : cases) {
    if (!c.failure.empty()) continue;
    Ends& ends = of_job.try_emplace({c.device, c.model, c.composed_ms}, Ends{&c, &c}).first->second;
    if (c.measured_ms < ends.fastest->measured_ms) ends.fastest = &c;
    if (c.measured_ms > ends.slowest->measured_ms) ends.slowest = &c;
  }
  std::vector<std::string> out;
  for (const auto& [job, ends] : of_job) {
    if (ends.slowest->measured_ms <= kMeasuredApart * ends.fastest->measured_ms) continue;
    out.push_back(fmt::format("{} and {} are one job, measured as {:.4g} ms and {:.4g} ms",
                              printable(ends.fastest->source->id, 60), printable(ends.slowest->source->id, 60),
                              ends.fastest->measured_ms, ends.slowest->measured_ms));
  }
  return out;
}

Result<opmodels::GraphNetwork> train_on(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how) {
  std::vector<opmodels::GraphExample> examples;
  for (const GraphCase& c : cases)
    if (c.failure.empty()) examples.push_back(example_of(c));
  return opmodels::GraphNetwork::train(examples, how);
}

std::vector<double> left_out(const std::vector<GraphCase>& cases, LeftOut what, const opmodels::GraphTraining& how) {
  std::vector<double> out(cases.size(), 0);
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> folds;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (cases[i].failure.empty()) folds[fold_of(cases[i], what)].push_back(i);
  for (const auto& [fold, predicted] : folds) {
    std::vector<opmodels::GraphExample> examples;
    for (const GraphCase& c : cases)
      if (c.failure.empty() && !is_left_out(c, cases[predicted.front()], what)) examples.push_back(example_of(c));
    const auto network = opmodels::GraphNetwork::train(examples, how);
    for (const std::size_t i : predicted)
      out[i] = cases[i].composed_ms * (network.ok() ? network->ask(cases[i].facts).ratio : 1);
  }
  return out;
}

std::string correction_table(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how) {
  std::vector<double> composed;
  for (const GraphCase& c : cases) composed.push_back(c.composed_ms);
  const std::vector<double> errors = errors_of(cases, composed);
  std::string out = fmt::format("{:<38}{:>10}{:>10}{:>10}\n", "absolute error, " + counted(errors.size(), "case"),
                                "mean", "median", "worst");
  const ErrorFigures before = figures_of_errors(errors);
  out += row_of_figures("composed", before);
  if (const auto network = train_on(cases, how); network.ok())
    out += fmt::format("{:<38}{:>9.5f}%  root mean square\n", "corrected, trained on", 100 * network->residual());
  bool better = true;
  for (const LeftOut what : kWays) {
    const ErrorFigures after = figures_of_errors(errors_of(cases, left_out(cases, what, how)));
    out += row_of_figures("corrected, " + std::string(name_of(what)), after);
    better = better && after.mean < before.mean;
  }
  return out +
         (better
              ? "better than the composed prediction on devices and models left out\n"
              : "no better than the composed prediction on devices or models left out: leave model.correction at none\n");
}

std::string correction_csv(const std::vector<GraphCase>& cases, const opmodels::GraphTraining& how) {
  std::string out = csv_line({"case_id", "device", "model", "measured_ms", "composed_ms", "device_left_out_ms",
                              "model_left_out_ms", "both_left_out_ms", "trained_on_ms", "error"});
  const auto network = train_on(cases, how);
  std::array<std::vector<double>, kWays.size()> corrected;
  for (std::size_t w = 0; w < kWays.size(); ++w) corrected[w] = left_out(cases, kWays[w], how);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const GraphCase& c = cases[i];
    const auto number = [&](double v) { return c.failure.empty() ? fmt::format("{:.5f}", v) : std::string(); };
    out += csv_line({c.source->id, c.device, c.model, number(c.measured_ms), number(c.composed_ms),
                     number(corrected[0][i]), number(corrected[1][i]), number(corrected[2][i]),
                     number(c.composed_ms * (network.ok() ? network->ask(c.facts).ratio : 1)), c.failure});
  }
  return out;
}

}  // namespace distsim::study
