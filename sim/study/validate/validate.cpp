#include "sim/study/validate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/validate/experiment_values.hpp"
#include "sim/study/workers.hpp"
#include "sim/workload/family.hpp"

namespace distsim::study {
namespace {

std::string basis_mix(const report::Report& r) {
  std::string out;
  for (const auto& b : r.bases) {
    if (b.share >= 0.005)
      out += fmt::format("{}{} {:.0f}%", out.empty() ? "" : ", ", graph::name_of(b.basis), 100 * b.share);
  }
  return out;
}

void take_experiment(ValidatedCase& v, const config::Experiment& e) {
  v.framework = e.framework.name;
  v.model = e.model.name;
  v.system = e.cluster.name;
  v.precision = text_at(e.merged, "model.precision");
  v.values = values_text(e.merged);
  v.nodes = e.cluster.nodes;
  v.gpus = e.cluster.nodes * e.cluster.gpus_per_node;
}

std::optional<double> token_rate(const config::Experiment& e, const report::Report& r) {
  if (e.model.family->tokens_per_sample == nullptr) return std::nullopt;
  const double tokens = static_cast<double>(e.model.family->tokens_per_sample(e.model));
  return tokens * r.samples_per_second / static_cast<double>(e.cluster.nodes * e.cluster.gpus_per_node);
}

void take_report(ValidatedCase& v, const config::Experiment& e, const report::Report& r) {
  v.predicted = true;
  v.tokens_per_s_per_gpu = token_rate(e, r);
  v.predicted_ms = r.iteration.ms();
  v.low_ms = r.low.ms();
  v.high_ms = r.high.ms();
  v.basis = basis_mix(r);
  v.limited_by = report::text_of(r.limits.limited_by);
  for (const std::int64_t bytes : r.context.memory_per_rank) v.memory_gb = std::max(v.memory_gb, 1e-9 * double(bytes));
  v.memory_exceeded = v.memory_gb > 1e-9 * double(pipeline::shape_of(e).memory_per_gpu.value());
  v.parts_ms = {r.compute.ms(),    r.exposed_comm.ms(), r.waiting.ms(),
                r.host_bound.ms(), r.idle.ms(),         r.hidden_comm.ms()};
}

/// What the names of a case lead to.
ResolvedNames names_of(const ValidatedCase& v) {
  return {{"cluster.system", v.system}, {"model.name", v.model}, {"framework.name", v.framework}};
}

/// Those whose experiments are known and measured, by these. Cells of a column table may tell experiments apart that are one
/// to the model.
std::map<std::string, std::vector<const Case*>> by_experiment(const CaseFile& file,
                                                              const std::vector<ValidatedCase>& cases) {
  std::map<std::string, std::vector<const Case*>> out;
  for (const ValidatedCase& v : cases) {
    if (v.values.empty() || !v.source->measured_ms) continue;
    out[file.table ? cells_text(*v.source, names_of(v)) : v.values].push_back(v.source);
  }
  return out;
}

/// The first pair in the order of the file, with the number of others.
struct FoundPair {
  const Case *first = nullptr, *again = nullptr;
  std::size_t more = 0;

  void add(const Case& one, const Case& other) {
    if (again != nullptr) ++more;
    if (again != nullptr && again < &other) return;
    first = &one;
    again = &other;
  }
};

ValidatedCase validate_one(const CaseFile& file, const Case& c, pipeline::CostModelCache& cache) {
  ValidatedCase v;
  v.source = &c;
  v.failure = c.failure;
  if (!v.failure.empty()) return v;
  Result<config::Experiment> experiment = experiment_of(file, c);
  if (!experiment) {
    v.failure = experiment.error().text();
    return v;
  }
  take_experiment(v, *experiment);
  pipeline::Passes passes;
  const Result<pipeline::Prediction> p =
      pipeline::predict(*experiment, passes, cache, pipeline::kPlayedMicroSteps, report::Detail::figures);
  if (!p.ok()) {
    v.failure = p.error().text();
    return v;
  }
  take_report(v, *experiment, p->report);
  v.failure = why_implausible(c, v.predicted_ms, p->report.mfu);
  return v;
}

constexpr std::array kAdded{"predicted_ms", "low_ms",  "high_ms", "error_percent", "memory_gb",  "tokens_per_s_per_gpu",
                            "limited_by",   "error",   "basis",   "framework",     "compute_ms", "exposed_comm_ms",
                            "waiting_ms",   "host_ms", "idle_ms", "hidden_comm_ms"};

std::vector<std::string> csv_header(const CaseFile& file) {
  std::vector<std::string> header;
  for (const std::string& column : file.header) {
    const bool taken = std::find(kAdded.begin(), kAdded.end(), column) != kAdded.end();
    header.push_back(taken ? "input_" + column : column);
  }
  header.insert(header.end(), kAdded.begin(), kAdded.end());
  return header;
}

std::vector<std::string> csv_row(const ValidatedCase& v) {
  std::vector<std::string> row = v.source->fields;
  const auto number = [&](double value, int digits) {
    row.push_back(v.failure.empty() ? fmt::format("{:.{}f}", value, digits) : "");
  };
  number(v.predicted_ms, 5);
  number(v.low_ms, 5);
  number(v.high_ms, 5);
  row.push_back(v.measured() ? fmt::format("{:.3f}", 100 * v.error()) : "");
  number(v.memory_gb, 3);
  row.push_back(v.tokens_per_s_per_gpu ? fmt::format("{:.2f}", *v.tokens_per_s_per_gpu) : "");
  row.push_back(v.limited_by);
  row.push_back(v.failure);
  row.push_back(v.basis);
  row.push_back(v.framework);
  for (const double part : v.parts_ms) number(part, 5);
  return row;
}

/// A time in another unit, or of another run, is no measurement of the case: it would be the whole of every mean. Chosen; no case
/// that we know is off by more than 3.
constexpr double kAnotherUnit = 100;

}  // namespace

std::string why_implausible(const Case& c, double predicted_ms, double mfu) {
  if (!c.measured_ms) return "";
  const double ratio = predicted_ms / *c.measured_ms;
  const std::string found = fmt::format("{}: measured_ms: found {:.6g} ms, ", c.where, *c.measured_ms);
  constexpr double kPeakIsRounded = 1.25;
  if (mfu * ratio > kPeakIsRounded)
    return found + fmt::format("expected at least {:.6g} ms, in which the GPUs run at the peak of their data sheet",
                               predicted_ms * mfu);
  if (ratio > kAnotherUnit || ratio < 1 / kAnotherUnit)
    return found + fmt::format("where the model says {:.6g} ms, expected milliseconds of an iteration", predicted_ms);
  return "";
}

std::vector<ValidatedCase> validate_cases(const CaseFile& file, unsigned jobs, const std::function<void()>& on_case) {
  std::vector<ValidatedCase> out(file.cases.size());
  pipeline::CostModelCache cache;
  const auto validate = [&](std::size_t i) { out[i] = validate_one(file, file.cases[i], cache); };
  for (const std::size_t i : for_each_index(out.size(), jobs, validate, on_case)) {
    out[i].source = &file.cases[i];
    out[i].failure = why_left();
  }
  for (ValidatedCase& v : out) v.series = series_text(file, *v.source, names_of(v));
  return out;
}

std::string measured_apart(const CaseFile& file, const std::vector<ValidatedCase>& cases) {
  FoundPair found;
  for (const auto& [experiment, same] : by_experiment(file, cases)) {
    const double before = *same.front()->measured_ms;
    for (const Case* c : same) {
      const double now = *c->measured_ms;
      if (std::max(before, now) > kMeasuredApart * std::min(before, now)) found.add(*same.front(), *c);
    }
  }
  if (found.again == nullptr) return "";
  const std::string said = found.again->where + ": measured_ms: found " +
                           format_quantity(*found.again->measured_ms, Dimension::none) + ", where " +
                           found.first->where + " has the same experiment with " +
                           format_quantity(*found.first->measured_ms, Dimension::none);
  return found.more == 0 ? said : said + " (and " + std::to_string(found.more) + " more)";
}

std::string measured_again(const CaseFile& file, const std::vector<ValidatedCase>& cases) {
  FoundPair found;
  for (const auto& [experiment, same] : by_experiment(file, cases)) {
    std::map<double, const Case*> seen;
    for (const Case* c : same) {
      const auto [it, fresh] = seen.emplace(*c->measured_ms, c);
      if (!fresh) found.add(*it->second, *c);
    }
  }
  if (found.again == nullptr) return "";
  return found.again->where + ": found the experiment and the time of " + found.first->where + " again" +
         (found.more == 0 ? "" : " (and " + counted(found.more, "row") + " more like it)") + "; each counts";
}

std::string validation_csv(const CaseFile& file, const std::vector<ValidatedCase>& cases) {
  std::string out = csv_line(csv_header(file));
  for (const ValidatedCase& v : cases) out += csv_line(csv_row(v));
  return out;
}

}  // namespace distsim::study
