// Results of serving for people.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text/columns.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

constexpr std::size_t kMostOfTitle = 200;

std::string load_words(const Experiment& e) {
  switch (e.load.kind) {
    case LoadKind::poisson:
      return "Poisson arrivals";
    case LoadKind::constant:
      return "constant gaps";
    case LoadKind::gamma:
      return fmt::format("gamma gaps (cv {:g})", e.load.cv);
    case LoadKind::bursts:
      return fmt::format("bursts of {}", counted(e.load.bursts.size(), "state"));
    case LoadKind::trace:
      return "arrivals of a file";
    case LoadKind::closed:
      return counted(e.load.clients, "client");
    case LoadKind::server:
      return "MLPerf server";
    case LoadKind::offline:
      return "MLPerf offline";
    case LoadKind::single_stream:
      return "MLPerf single stream";
    case LoadKind::multi_stream:
      return "MLPerf multi stream";
  }
  return "";
}

std::string four_digits(double value) { return fmt::format("{:.4g}", value); }

using Cells = std::vector<std::string>;

/// "1.918 +- 0.1022"; an interval that is only rounding, as of equal latencies, reads as 0.
std::string mean_words(const Tally& t, double confidence) {
  constexpr double kRounding = 1e-9;
  const double mean = t.latency_ms.mean(), half = t.latency_ms.half_width(confidence);
  if (!std::isfinite(half)) return four_digits(mean);
  return four_digits(mean) + " +- " + (half < kRounding * mean ? "0" : four_digits(half));
}

/// A dash stands where there is no figure: of no answer, of no request, of what is not known.
Cells row_cells(const Comparison& c, const Point& p, std::size_t row) {
  const Figures f = figures_of(*c.experiment, p, row);
  const Tally& t = *f.tally;
  const auto or_dash = [](bool there, const std::string& text) { return there ? text : "-"; };
  const auto at = [&](double q) {
    return t.answered() == 0 ? "-" : four_digits(static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
  };
  const bool work = f.works();
  return {p.policy->name,
          f.model,
          or_dash(f.offered_per_s > 0, four_digits(f.offered_per_s)),
          std::to_string(t.requests),
          t.answered() == 0 ? "-" : mean_words(t, c.experiment->confidence),
          at(0.5),
          at(0.99),
          at(0.999),
          or_dash(f.any(), four_digits(f.throughput_per_s)),
          or_dash(f.any(), four_digits(f.goodput_per_s)),
          or_dash(work, fmt::format("{:.1f}", 100 * f.utilisation)),
          or_dash(work, std::to_string(f.batches)),
          p.result.unstable                ? "unstable"
          : p.result.overload.requests > 0 ? "overload"
                                           : ""};
}

/// The metric that MLPerf's rules take of a scenario.
std::string scenario_line(const Experiment& e, const Point& p) {
  const RunResult& r = p.result;
  const auto query_ms = [&](double q) { return static_cast<double>(r.query_ps.quantile(q)) * 1e-9; };
  if (e.load.kind == LoadKind::single_stream && r.query_ps.count() > 0)
    return fmt::format("{}: 90th percentile of queries {:.4g} ms", p.policy->name, query_ms(0.9));
  if (e.load.kind == LoadKind::multi_stream && r.query_ps.count() > 0)
    return fmt::format("{}: 99th percentile of queries {:.4g} ms", p.policy->name, query_ms(0.99));
  if (e.load.kind == LoadKind::offline)
    return fmt::format("{}: {:.4g} samples/s", p.policy->name, r.served_per_s) +
           (r.dropped > 0 ? fmt::format(", without {} of {} that were dropped", r.dropped, r.sent) : "");
  if (e.load.kind != LoadKind::server) return "";
  const auto promised = [](const auto& of) { return of.deadline_ps != kNever; };
  if (std::ranges::none_of(e.scenario.models, promised) && std::ranges::none_of(e.scenario.classes, promised))
    return fmt::format("{}: no deadline, so nothing says whether the run is valid", p.policy->name);
  std::string late;
  for (std::size_t m = 0; m < r.models.size(); ++m) {
    if (100 * r.models[m].violations > r.models[m].requests)
      late += (late.empty() ? "" : ", ") + e.scenario.models[m].name;
  }
  return fmt::format("{}: {}", p.policy->name,
                     late.empty() ? "valid, at most 1 % of requests above their deadline"
                                  : "not valid, more than 1 % of requests above their deadline: " + late);
}

/// Where the power of GPUs is known.
std::string energy_line(const Experiment& e, const Point& p) {
  const Figures f = figures_of(e, p, e.scenario.models.size());
  if (f.joules <= 0 || p.result.sent == 0) return "";
  return fmt::format("{}: {:.4g} J, {:.4g} J per request", p.policy->name, f.joules,
                     f.joules / static_cast<double>(p.result.sent));
}

/// More than could be served, over the whole run or for a while.
std::string overload_line(const Experiment& e, const Point& p) {
  const Figures f = figures_of(e, p, e.scenario.models.size());
  const RunResult& r = p.result;
  const std::string where =
      std::string(p.policy->name) + (f.offered_per_s > 0 ? " at " + four_digits(f.offered_per_s) + "/s" : "");
  if (r.unstable)
    return fmt::format("{}: load above capacity, saturates at {} requests/s; latencies grow with the length of the run",
                       where, four_digits(r.saturates_per_s));
  if (r.overload.requests == 0) return "";
  const auto seconds = [](double s) { return format_quantity(s, Dimension::seconds); };
  return fmt::format(
      "{}: overload for a while, {} from {} on left up to {} of work for all GPUs; the tail is that of this time",
      where, counted(r.overload.requests, "request"), seconds(r.overload.begin_s), seconds(r.overload.most_s));
}

/// Why a row of the table has dashes, where it is about requests that did not come or were all dropped.
std::string dash_line(const Comparison& c, const Point& p, std::size_t row) {
  const Experiment& e = *c.experiment;
  const Figures f = figures_of(e, p, row);
  const std::size_t models = e.scenario.models.size();
  if (f.any() && f.tally->answered() > 0) return "";
  if (f.any()) return fmt::format("{}: all its requests were dropped, so that it has no latencies", f.model);
  const double weight = row < models ? e.scenario.models[row].weight : e.scenario.classes[row - models - 1].weight;
  const std::string none = f.model + ": no counted request, so that it has no figures: ";
  if (e.load.kind == LoadKind::trace && row < models && share_of_row(e, row) <= 0)
    return none + "the file of arrivals has none of it";
  if (weight <= 0 && share_of_row(e, row) <= 0) return none + "its weight is 0";
  return none +
         fmt::format("its share is {} %, of {}{}", four_digits(100 * share_of_row(e, row)),
                     counted(p.result.sent, "request"),
                     p.result.warm_up > 0 ? ", the first " + std::to_string(p.result.warm_up) + " not counted" : "");
}

}  // namespace

std::string name_of_row(const Experiment& e, std::size_t row) {
  const std::size_t models = e.scenario.models.size();
  if (row == models) return "all";
  return row < models ? e.scenario.models[row].name : "class " + e.scenario.classes[row - models - 1].name;
}

std::string facts_of(const Experiment& e) {
  return fmt::format("{} on {}, {}, seed {}", counted(e.scenario.models.size(), "model"),
                     counted(e.scenario.gpus.size(), "GPU"), load_words(e), e.load.seed);
}

std::vector<std::string> notes_of(const Comparison& c) {
  const Experiment& e = *c.experiment;
  std::vector<std::string> out;
  for (const Point& p : c.points) {
    if (!p.error.empty()) continue;
    for (std::string& line : std::array{overload_line(e, p), scenario_line(e, p), energy_line(e, p)})
      if (!line.empty()) out.push_back(std::move(line));
  }
  for (const Point& p : c.points) {  // mostly the same for all of them
    for (std::size_t row = 0; p.error.empty() && row < rows_of(e); ++row) {
      std::string line = row == e.scenario.models.size() ? "" : dash_line(c, p, row);
      if (!line.empty() && std::ranges::find(out, line) == out.end()) out.push_back(std::move(line));
    }
  }
  return out;
}

std::vector<std::string> overloads_of(const Comparison& c) {
  std::vector<std::string> out;
  for (const Point& p : c.points) {
    std::string line = p.error.empty() ? overload_line(*c.experiment, p) : "";
    if (!line.empty()) out.push_back(std::move(line));
  }
  return out;
}

std::string comparison_text(const Comparison& c) {
  const Experiment& e = *c.experiment;
  const std::size_t models = e.scenario.models.size();
  std::vector<Cells> rows{{"policy", "model", "offered/s", "requests", "mean ms", "p50 ms", "p99 ms", "p99.9 ms",
                           "served/s", "goodput/s", "busy %", "batches", ""}};
  for (const Point& p : c.points) {
    if (!p.error.empty()) {
      rows.push_back({p.policy->name, p.error});
      continue;
    }
    rows.push_back(row_cells(c, p, models));
    for (std::size_t m = 0; m < models && models > 1 && e.rates_per_s.size() == 1; ++m)
      rows.push_back(row_cells(c, p, m));
    for (std::size_t m = models + 1; m < rows_of(e) && e.rates_per_s.size() == 1; ++m)
      rows.push_back(row_cells(c, p, m));
  }
  std::string notes;
  for (const std::string& note : notes_of(c)) notes += one_line(note) + "\n";
  return printable(e.title, kMostOfTitle) + "\n" + facts_of(e) + "\n\n" + aligned_table(rows, 2) +
         (notes.empty() ? "" : "\n" + notes);
}

}  // namespace distsim::serving
