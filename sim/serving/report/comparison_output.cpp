#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json/json.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/markup.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

std::string number(double value) { return fmt::format("{:.10g}", value); }

/// Empty where nothing was answered.
std::string latency_cell(const Tally& t, double q) {
  return t.latency_ps.count() == 0 ? "" : number(static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
}

std::vector<std::string> csv_cells(const Point& p, const Figures& f) {
  const Tally& t = *f.tally;
  return {p.policy->name,
          f.model,
          number(f.rate_per_s),
          std::to_string(t.requests),
          t.answered() == 0 ? "" : number(t.latency_ms.mean()),
          latency_cell(t, 0.5),
          latency_cell(t, 0.9),
          latency_cell(t, 0.99),
          latency_cell(t, 0.999),
          number(f.makespan_ms),
          number(f.throughput_per_s),
          number(f.goodput_per_s),
          std::to_string(t.violations),
          number(f.utilisation),
          std::to_string(f.moves),
          std::to_string(f.batches),
          f.joules > 0 ? number(f.joules) : ""};
}

std::vector<std::string> empty_cells(const Comparison& c, const Point& p, const std::string& model) {
  std::vector<std::string> cells(17);
  cells[0] = p.policy->name;
  cells[1] = model;
  const double offered = offered_rate(load_at(*c.experiment, p.rate_per_s));
  if (offered > 0 && model == "all") cells[2] = number(offered);
  return cells;
}

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

std::string milliseconds(double ms) { return fmt::format("{:.4g}", ms); }

std::string text_row(const Comparison& c, const Point& p, std::size_t model) {
  const Figures f = figures_of(*c.experiment, p, model);
  const Tally& t = *f.tally;
  const double half = t.latency_ms.half_width(c.experiment->confidence);
  const std::string mean =
      t.answered() == 0 ? "-"
                        : milliseconds(t.latency_ms.mean()) + (std::isfinite(half) ? " +- " + milliseconds(half) : "");
  const auto at = [&](double q) {
    return t.answered() == 0 ? "-" : milliseconds(static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
  };
  return fmt::format("{:<18} {:<14} {:>9.4g} {:>9} {:>19} {:>9} {:>9} {:>9} {:>10.4g} {:>10.4g} {:>6.1f} {:>8}{}\n",
                     p.policy->name, f.model, f.rate_per_s, t.requests, mean, at(0.5), at(0.99), at(0.999),
                     f.throughput_per_s, f.goodput_per_s, 100 * f.utilisation, f.batches,
                     p.result.unstable ? "  unstable" : "");
}

/// The metric that MLPerf's rules take of a scenario.
std::string scenario_line(const Experiment& e, const Point& p) {
  const RunResult& r = p.result;
  const auto query_ms = [&](double q) { return static_cast<double>(r.query_ps.quantile(q)) * 1e-9; };
  if (e.load.kind == LoadKind::single_stream && r.query_ps.count() > 0)
    return fmt::format("{}: 90th percentile of queries {:.4g} ms", p.policy->name, query_ms(0.9));
  if (e.load.kind == LoadKind::multi_stream && r.query_ps.count() > 0)
    return fmt::format("{}: 99th percentile of queries {:.4g} ms", p.policy->name, query_ms(0.99));
  if (e.load.kind == LoadKind::offline) return fmt::format("{}: {:.4g} samples/s", p.policy->name, r.served_per_s);
  if (e.load.kind != LoadKind::server) return "";
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

nlohmann::ordered_json tally_json(const Comparison& c, const Point& p, std::size_t model) {
  const Figures f = figures_of(*c.experiment, p, model);
  const Tally& t = *f.tally;
  nlohmann::ordered_json out;
  out["model"] = f.model;
  out["rate_per_s"] = f.rate_per_s;
  out["requests"] = t.requests;
  out["dropped"] = t.dropped;
  out["violations"] = t.violations;
  if (t.answered() > 0) {
    const double half = t.latency_ms.half_width(c.experiment->confidence), mean = t.latency_ms.mean();
    out["mean_ms"] = mean;
    if (std::isfinite(half)) {
      out["mean_low_ms"] = mean - half;
      out["mean_high_ms"] = mean + half;
    }
    for (const auto& [name, q] : {std::pair("p50", 0.5), {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}) {
      const QuantileEstimate e = quantile_of(t, q, c.experiment->confidence);
      out[std::string(name) + "_ms"] = e.ms;
      out[std::string(name) + "_low_ms"] = e.low_ms;
      out[std::string(name) + "_high_ms"] = e.high_ms;
    }
    const auto n = static_cast<double>(t.answered());
    out["waiting_ms"] = t.waited_ms / n;
    out["fetching_ms"] = t.fetched_ms / n;
    out["executing_ms"] = t.executed_ms / n;
    out["returning_ms"] = t.returned_ms / n;
  }
  out["throughput_per_s"] = f.throughput_per_s;
  out["goodput_per_s"] = f.goodput_per_s;
  out["utilisation"] = f.utilisation;
  out["moves"] = f.moves;
  out["batches"] = f.batches;
  return out;
}

nlohmann::ordered_json point_json(const Comparison& c, const Point& p) {
  nlohmann::ordered_json out;
  out["policy"] = p.policy->name;
  if (!p.error.empty()) {
    out["error"] = p.error;
    return out;
  }
  const RunResult& r = p.result;
  out["sent"] = r.sent;
  out["warm_up"] = r.warm_up;
  out["unstable"] = r.unstable;
  if (r.unstable) out["saturates_at_per_s"] = r.served_per_s;
  out["makespan_ms"] = static_cast<double>(r.makespan_ps) * 1e-9;
  out["events"] = r.events;
  out["weight_loads"] = r.weight_loads;
  out["evictions"] = r.evictions;
  for (std::size_t g = 0; g < r.busy_ps.size(); ++g) {
    const auto span = static_cast<double>(std::max<std::int64_t>(1, r.makespan_ps));
    nlohmann::ordered_json gpu{{"name", c.experiment->scenario.gpus[g].name},
                               {"utilisation", static_cast<double>(r.busy_ps[g]) / span}};
    if (!r.resources.empty()) {
      gpu["sm_utilisation"] = r.resources[g].sm_ps / static_cast<double>(span);
      gpu["memory_utilisation"] = r.resources[g].memory_ps / static_cast<double>(span);
      gpu["launch_utilisation"] = r.resources[g].launch_ps / static_cast<double>(span);
    }
    if (r.joules[g] > 0) gpu["energy_j"] = r.joules[g];
    out["gpus"].push_back(std::move(gpu));
  }
  for (std::size_t l = 0; l < r.link_busy_ps.size(); ++l) {
    if (r.link_busy_ps[l] == 0) continue;
    out["links"].push_back({{"name", c.experiment->scenario.links[l].name},
                            {"utilisation", static_cast<double>(r.link_busy_ps[l]) /
                                                static_cast<double>(std::max<std::int64_t>(1, r.makespan_ps))}});
  }
  if (r.query_ps.count() > 0) {
    out["queries"] = {{"count", r.query_ps.count()}};
    for (const auto& [name, q] : {std::pair("p50_ms", 0.5), {"p90_ms", 0.9}, {"p99_ms", 0.99}})
      out["queries"][name] = static_cast<double>(r.query_ps.quantile(q)) * 1e-9;
  }
  for (std::size_t m = c.experiment->scenario.models.size() + 1; m-- > 0;)
    out["results"].push_back(tally_json(c, p, m));
  for (std::size_t m = c.experiment->scenario.models.size() + 1; m < rows_of(*c.experiment); ++m)
    out["classes"].push_back(tally_json(c, p, m));
  return out;
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
    if (p.result.unstable)
      out.push_back(fmt::format(
          "{} at {:.4g}/s: load above capacity, saturates at {:.4g} requests/s; latencies grow with the length of the run",
          p.policy->name, figures_of(e, p, e.scenario.models.size()).rate_per_s, p.result.served_per_s));
    for (std::string& line : std::array{scenario_line(e, p), energy_line(e, p)})
      if (!line.empty()) out.push_back(std::move(line));
  }
  return out;
}

std::string comparison_csv(const Comparison& c) {
  std::string out =
      "policy,model,rate_per_s,requests,mean_ms,p50_ms,p90_ms,p99_ms,p999_ms,makespan_ms,throughput_per_s,goodput_per_s,"
      "violations,utilisation,moves,batches,energy_j\n";
  const std::size_t models = c.experiment->scenario.models.size();
  for (const Point& p : c.points) {
    for (std::size_t i = 0; i < rows_of(*c.experiment); ++i) {
      const std::size_t m = i == 0 ? models : i <= models ? i - 1 : i;  // all of them first
      out += csv_line(p.error.empty() ? csv_cells(p, figures_of(*c.experiment, p, m))
                                      : empty_cells(c, p, name_of_row(*c.experiment, m)));
    }
  }
  return out;
}

std::string comparison_text(const Comparison& c) {
  const Experiment& e = *c.experiment;
  const std::size_t models = e.scenario.models.size();
  std::string out = e.title + "\n" + facts_of(e) + "\n\n";
  out += fmt::format("{:<18} {:<14} {:>9} {:>9} {:>19} {:>9} {:>9} {:>9} {:>10} {:>10} {:>6} {:>8}\n", "policy",
                     "model", "offered/s", "requests", "mean ms", "p50 ms", "p99 ms", "p99.9 ms", "served/s",
                     "goodput/s", "busy %", "batches");
  for (const Point& p : c.points) {
    if (!p.error.empty()) {
      out += fmt::format("{:<18} {}\n", p.policy->name, p.error);
      continue;
    }
    out += text_row(c, p, models);
    for (std::size_t m = 0; m < models && models > 1 && e.rates_per_s.size() == 1; ++m) out += text_row(c, p, m);
    for (std::size_t m = models + 1; m < rows_of(e) && e.rates_per_s.size() == 1; ++m) out += text_row(c, p, m);
  }
  std::string notes;
  for (const std::string& note : notes_of(c)) notes += note + "\n";
  return notes.empty() ? out : out + "\n" + notes;
}

std::string comparison_json(const Comparison& c) {
  nlohmann::ordered_json out;
  out["title"] = c.experiment->title;
  out["seed"] = c.experiment->load.seed;
  out["confidence"] = c.experiment->confidence;
  for (const Point& p : c.points) out["points"].push_back(point_json(c, p));
  return with_hidden_escaped(out.dump(2)) + "\n";
}

}  // namespace distsim::serving
