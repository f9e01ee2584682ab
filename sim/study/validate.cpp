#include "sim/study/validate.hpp"

#include <fmt/format.h>

#include <atomic>
#include <istream>
#include <mutex>
#include <thread>

#include "base/text/csv.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/case_experiment.hpp"

namespace distsim::study {
namespace {

/// Column indices of a case file.
struct Columns {
  std::size_t model, framework, system, nodes, gpus, precision, batch, accum, measured;
  std::optional<std::size_t> id, tier, series;
};

Result<Columns> columns_of(const CsvReader& csv) {
  Columns c;
  TRY_ASSIGN(c.model, csv.require("model_id"));
  TRY_ASSIGN(c.framework, csv.require("framework_id"));
  TRY_ASSIGN(c.system, csv.require("system_id"));
  TRY_ASSIGN(c.nodes, csv.require("nodes"));
  TRY_ASSIGN(c.gpus, csv.require("gpus"));
  TRY_ASSIGN(c.precision, csv.require("precision"));
  TRY_ASSIGN(c.batch, csv.require("global_batch"));
  TRY_ASSIGN(c.accum, csv.require("accum"));
  TRY_ASSIGN(c.measured, csv.require("measured_ms"));
  c.id = csv.column("case_id");
  c.tier = csv.column("tier");
  c.series = csv.column("series");
  return c;
}

Result<std::int64_t> integer_field(const std::string& text, const char* column, const std::string& where) {
  Result<std::int64_t> value =
      parse_integer(text.ends_with(".0") ? text.substr(0, text.size() - 2) : text);  // spreadsheets write 8 as 8.0
  if (!value || *value < 1)
    return Error{std::string(column) + ": found '" + text + "', expected a whole number of at least 1", where, ""};
  return value;
}

Result<MeasuredCase> case_of(std::vector<std::string> row, const Columns& c, const std::string& where) {
  MeasuredCase m;
  m.model_id = row[c.model];
  m.framework_id = row[c.framework];
  m.system_id = row[c.system];
  m.precision = row[c.precision];
  m.case_id = c.id ? row[*c.id] : where;
  m.tier = c.tier ? row[*c.tier] : "";
  m.series = c.series ? row[*c.series] : "";
  TRY_ASSIGN(m.nodes, integer_field(row[c.nodes], "nodes", where));
  TRY_ASSIGN(m.gpus, integer_field(row[c.gpus], "gpus", where));
  TRY_ASSIGN(m.global_batch, integer_field(row[c.batch], "global_batch", where));
  TRY_ASSIGN(m.accumulation, integer_field(row[c.accum].empty() ? "1" : row[c.accum], "accum", where));
  const Result<double> measured = parse_quantity(row[c.measured], Dimension::none);
  if (!measured || *measured <= 0)
    return Error{"measured_ms: found '" + row[c.measured] + "', expected a positive number", where, ""};
  m.measured_ms = *measured;
  m.fields = std::move(row);
  return m;
}

/// The largest part of the iteration, in words.
std::string dominant_term(const report::Report& r) {
  std::string name = "compute";
  Duration most = r.compute;
  if (!r.ops.empty() && r.compute > Duration()) name = "compute: " + r.ops.front().kind;
  if (r.exposed_comm > most) {
    most = r.exposed_comm;
    name = "exposed communication";
  }
  if (r.waiting > most) {
    most = r.waiting;
    name = "waiting for other ranks";
  }
  if (r.host_bound > most) {
    most = r.host_bound;
    name = "host";
  }
  if (r.idle > most) name = "idle";
  return name;
}

std::string basis_mix(const report::Report& r) {
  std::string out;
  for (const auto& b : r.bases) {
    if (b.share >= 0.005)
      out += fmt::format("{}{} {:.0f}%", out.empty() ? "" : ", ", graph::name_of(b.basis), 100 * b.share);
  }
  return out;
}

ValidatedCase validate_one(const MeasuredCase& measured, CaseExperiments& experiments,
                           pipeline::CostModelCache& cache) {
  ValidatedCase v;
  v.measured = &measured;
  const Result<config::Experiment> experiment = experiments.of(measured);
  if (!experiment) {
    v.failure = experiment.error().text();
    return v;
  }
  v.profile = experiment->framework.name;
  pipeline::Passes passes;
  const Result<pipeline::Prediction> p = pipeline::predict(*experiment, passes, cache);
  if (!p) {
    v.failure = p.error().text();
    return v;
  }
  v.predicted_ms = p->report.iteration.ms();
  v.low_ms = p->report.low.ms();
  v.high_ms = p->report.high.ms();
  v.error = v.predicted_ms / measured.measured_ms - 1;
  v.basis = basis_mix(p->report);
  v.dominant_term = dominant_term(p->report);
  const report::Report& r = p->report;
  v.parts_ms = {r.compute.ms(),    r.exposed_comm.ms(), r.waiting.ms(),
                r.host_bound.ms(), r.idle.ms(),         r.hidden_comm.ms()};
  return v;
}

}  // namespace

std::string MeasuredCase::series_key() const {
  return fmt::format("{}|{}|{}|{}|{}|{}", model_id, framework_id, system_id, precision, accumulation, series);
}

Result<CaseFile> read_cases(std::istream& in, const std::string& name) {
  TRY_ASSIGN(CsvReader csv, CsvReader::open(in, name));
  TRY_ASSIGN(const Columns columns, columns_of(csv));
  CaseFile file;
  file.header = csv.header();
  for (;;) {
    TRY_ASSIGN(auto row, csv.next());
    if (!row) break;
    TRY_ASSIGN(MeasuredCase m, case_of(std::move(*row), columns, csv.position()));
    file.cases.push_back(std::move(m));
  }
  if (file.cases.empty()) return Error{"found no cases, expected at least one row below the header", name, ""};
  return file;
}

std::vector<ValidatedCase> validate_cases(const CaseFile& file, unsigned jobs, const std::function<void()>& on_case) {
  std::vector<ValidatedCase> out(file.cases.size());
  std::atomic<std::size_t> next{0};
  CaseExperiments experiments;
  pipeline::CostModelCache cache;
  std::mutex reporting;
  const auto work = [&] {
    for (std::size_t i = next++; i < out.size(); i = next++) {
      out[i] = validate_one(file.cases[i], experiments, cache);
      const std::lock_guard lock(reporting);
      on_case();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < jobs; ++t) threads.emplace_back(work);
  work();
  for (auto& t : threads) t.join();
  return out;
}

std::string validation_csv(const CaseFile& file, const std::vector<ValidatedCase>& cases) {
  std::vector<std::string> header = file.header;
  for (const char* added : {"predicted_ms", "low_ms", "high_ms", "error", "basis", "dominant_term", "profile",
                            "compute_ms", "exposed_comm_ms", "waiting_ms", "host_ms", "idle_ms", "hidden_comm_ms"}) {
    header.emplace_back(added);
  }
  std::string out = csv_line(header);
  for (const auto& v : cases) {
    std::vector<std::string> row = v.measured->fields;
    const auto number = [&](double value, int digits) {
      row.push_back(v.failure.empty() ? fmt::format("{:.{}f}", value, digits) : "");
    };
    number(v.predicted_ms, 5);
    number(v.low_ms, 5);
    number(v.high_ms, 5);
    number(v.error, 4);
    row.push_back(v.failure.empty() ? v.basis : "failed: " + v.failure);
    row.push_back(v.dominant_term);
    row.push_back(v.profile);
    for (const double part : v.parts_ms) number(part, 5);
    out += csv_line(row);
  }
  return out;
}

}  // namespace distsim::study
