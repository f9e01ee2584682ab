// Results of serving for programs: CSV and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json/json_text.hpp"
#include "base/text/csv.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

std::vector<std::string> header() {
  return {"policy",
          "model",
          "rate_per_s",
          "requests",
          "mean_ms",
          "p50_ms",
          "p90_ms",
          "p99_ms",
          "p999_ms",
          "makespan_ms",
          "throughput_per_s",
          "goodput_per_s",
          "violations",
          "utilisation",
          "moves",
          "batches",
          "energy_j",
          "dropped",
          "warm_up",
          "waiting_ms",
          "fetching_ms",
          "executing_ms",
          "returning_ms",
          "unstable",
          "saturates_at_per_s",
          "overload_requests",
          "error"};
}

std::string number(double value) { return fmt::format("{:.10g}", value); }

/// Empty where there is no figure: of no answer, of no request, of what is not known.
std::vector<std::string> csv_cells(const Point& p, const Figures& f) {
  const Tally& t = *f.tally;
  const RunResult& r = p.result;
  const auto only_if = [](bool there, const std::string& text) { return there ? text : ""; };
  const auto latency = [&](double q) {
    return t.answered() == 0 ? "" : number(static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
  };
  const auto part = [&](double sum_ms) {
    return t.answered() == 0 ? "" : number(sum_ms / static_cast<double>(t.answered()));
  };
  const bool work = f.works();
  return {p.policy->name,
          f.model,
          only_if(f.offered_per_s > 0, number(f.offered_per_s)),
          std::to_string(t.requests),
          t.answered() == 0 ? "" : number(t.latency_ms.mean()),
          latency(0.5),
          latency(0.9),
          latency(0.99),
          latency(0.999),
          number(f.makespan_ms),
          only_if(f.any(), number(f.throughput_per_s)),
          only_if(f.any(), number(f.goodput_per_s)),
          only_if(f.any(), std::to_string(t.violations)),
          only_if(work, number(f.utilisation)),
          only_if(work, std::to_string(f.moves)),
          only_if(work, std::to_string(f.batches)),
          only_if(f.joules > 0, number(f.joules)),
          only_if(f.any(), std::to_string(t.dropped)),
          std::to_string(r.warm_up),
          part(t.waited_ms),
          part(t.fetched_ms),
          part(t.executed_ms),
          part(t.returned_ms),
          r.unstable ? "1" : "0",
          only_if(r.unstable, number(r.saturates_per_s)),
          std::to_string(r.overload.requests),
          ""};
}

std::vector<std::string> empty_cells(const Comparison& c, const Point& p, std::size_t row) {
  std::vector<std::string> cells(header().size());
  cells[0] = p.policy->name;
  cells[1] = name_of_row(*c.experiment, row);
  const double offered = offered_rate(load_at(*c.experiment, p.rate_per_s));
  if (offered > 0 && row == c.experiment->scenario.models.size()) cells[2] = number(offered);
  cells.back() = p.error;
  return cells;
}

nlohmann::ordered_json tally_json(const Comparison& c, const Point& p, std::size_t model) {
  const Figures f = figures_of(*c.experiment, p, model);
  const Tally& t = *f.tally;
  nlohmann::ordered_json out;
  out["model"] = f.model;
  if (f.offered_per_s > 0) out["rate_per_s"] = f.offered_per_s;
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
  if (f.any()) {
    out["throughput_per_s"] = f.throughput_per_s;
    out["goodput_per_s"] = f.goodput_per_s;
  }
  if (!f.works()) return out;
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
  if (r.unstable) out["saturates_at_per_s"] = r.saturates_per_s;
  if (r.overload.requests > 0)
    out["overload"] = {
        {"requests", r.overload.requests}, {"begin_s", r.overload.begin_s}, {"work_left_s", r.overload.most_s}};
  out["makespan_ms"] = static_cast<double>(r.makespan_ps) * 1e-9;
  out["events"] = r.events;
  out["weight_loads"] = r.weight_loads;
  out["evictions"] = r.evictions;
  for (std::size_t g = 0; g < r.busy_ps.size(); ++g) {
    nlohmann::ordered_json gpu{{"name", c.experiment->scenario.gpus[g].name},
                               {"utilisation", r.part_of_span(static_cast<double>(r.busy_ps[g]))}};
    if (!r.resources.empty()) {
      gpu["sm_utilisation"] = r.part_of_span(r.resources[g].sm_ps);
      gpu["memory_utilisation"] = r.part_of_span(r.resources[g].memory_ps);
      gpu["launch_utilisation"] = r.part_of_span(r.resources[g].launch_ps);
    }
    if (r.joules[g] > 0) gpu["energy_j"] = r.joules[g];
    out["gpus"].push_back(std::move(gpu));
  }
  for (std::size_t l = 0; l < r.link_busy_ps.size(); ++l) {
    if (r.link_busy_ps[l] == 0) continue;
    out["links"].push_back({{"name", c.experiment->scenario.links[l].name},
                            {"utilisation", r.part_of_span(static_cast<double>(r.link_busy_ps[l]))}});
  }
  if (r.query_ps.count() > 0) {
    out["queries"] = {{"count", r.query_ps.count()}};
    for (const auto& [name, q] : {std::pair("p50_ms", 0.5), {"p90_ms", 0.9}, {"p99_ms", 0.99}})
      out["queries"][name] = static_cast<double>(r.query_ps.quantile(q)) * 1e-9;
  }
  const std::size_t models = c.experiment->scenario.models.size();
  out["results"].push_back(tally_json(c, p, models));  // all of them first
  for (std::size_t m = 0; m < models; ++m) out["results"].push_back(tally_json(c, p, m));
  for (std::size_t m = models + 1; m < rows_of(*c.experiment); ++m) out["classes"].push_back(tally_json(c, p, m));
  return out;
}

}  // namespace

std::string comparison_csv(const Comparison& c) {
  std::string out = csv_line(header());
  const std::size_t models = c.experiment->scenario.models.size();
  for (const Point& p : c.points) {
    for (std::size_t i = 0; i < rows_of(*c.experiment); ++i) {
      const std::size_t m = i == 0 ? models : i <= models ? i - 1 : i;  // all of them first
      out += csv_line(p.error.empty() ? csv_cells(p, figures_of(*c.experiment, p, m)) : empty_cells(c, p, m));
    }
  }
  return out;
}

std::string comparison_json(const Comparison& c) {
  nlohmann::ordered_json out;
  out["title"] = c.experiment->title;
  out["seed"] = c.experiment->load.seed;
  out["confidence"] = c.experiment->confidence;
  for (const Point& p : c.points) out["points"].push_back(point_json(c, p));
  return json_text(out, 2) + "\n";
}

}  // namespace distsim::serving
