// What the page of a serving experiment shows, as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json/json_text.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

using PageJson = nlohmann::ordered_json;

/// Latencies of all rows together at most: with more points each distribution has fewer.
constexpr std::size_t kMostLatencies = 40'000;
constexpr std::size_t kMostShares = 101, kFewestShares = 11;

/// Shares of requests at which distributions are drawn: even ones, and closer together in the tail.
std::vector<double> shares_of(std::size_t distributions) {
  const std::size_t count =
      std::clamp(kMostLatencies / std::max<std::size_t>(1, distributions), kFewestShares, kMostShares);
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<double>(i) / static_cast<double>(count));
  for (const double tail : {0.99, 0.995, 0.999, 0.9999}) out.push_back(tail);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// More digits than the page shows, so that they are not rounded twice.
double rounded(double value) { return std::isfinite(value) ? std::stod(fmt::format("{:.7g}", value)) : 0; }

/// What is offered, or served where answers decide what comes.
double rate_of(const Figures& f) { return f.offered_per_s > 0 ? f.offered_per_s : f.throughput_per_s; }

PageJson row_json(const Comparison& c, const Point& p, std::size_t row, const std::vector<double>& shares) {
  const Figures f = figures_of(*c.experiment, p, row);
  const Tally& t = *f.tally;
  PageJson out{{"rate_per_s", rounded(rate_of(f))},
               {"requests", t.requests},
               {"violations", t.violations},
               {"served_per_s", rounded(f.throughput_per_s)},
               {"goodput_per_s", rounded(f.goodput_per_s)}};
  if (f.has_work) out["busy"] = rounded(f.utilisation);
  if (t.answered() == 0) return out;
  out["mean_ms"] = rounded(t.latency_ms.mean());
  for (const auto& [name, q] : {std::pair("p50_ms", 0.5), {"p90_ms", 0.9}, {"p99_ms", 0.99}, {"p999_ms", 0.999}})
    out[name] = rounded(static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
  PageJson latencies = PageJson::array();
  for (const double share : shares)
    latencies.push_back(rounded(static_cast<double>(t.latency_ps.quantile(share)) * 1e-9));
  out["latencies_ms"] = std::move(latencies);
  return out;
}

}  // namespace

std::string comparison_page_json(const Comparison& c) {
  const Experiment& e = *c.experiment;
  const std::size_t models = e.scenario.models.size();
  PageJson rows = PageJson::array();  // the only model is all of them
  std::vector<std::size_t> shown{models};
  for (std::size_t row = 0; row < rows_of(e); ++row)
    if (row != models && (row > models || models > 1)) shown.push_back(row);
  for (const std::size_t row : shown) rows.push_back(name_of_row(e, row));
  const std::vector<double> shares = shares_of(c.points.size() * shown.size());
  PageJson points = PageJson::array();
  for (const Point& p : c.points) {
    PageJson point{{"policy", p.policy->name}};
    if (p.error.empty()) {
      point["rate_per_s"] = rounded(rate_of(figures_of(e, p, models)));
      point["unstable"] = p.result.unstable;
      PageJson figures = PageJson::array();
      for (const std::size_t row : shown) figures.push_back(row_json(c, p, row, shares));
      point["rows"] = std::move(figures);
    } else {
      point["rate_per_s"] = rounded(offered_rate(load_at(e, p.rate_per_s)));
      point["error"] = p.error;
    }
    points.push_back(std::move(point));
  }
  return json_text(PageJson{{"kind", "serving"},
                            {"title", e.title},
                            {"facts", facts_of(e)},
                            {"notes", notes_of(c)},
                            {"rows", rows},
                            {"shares", shares},
                            {"points", std::move(points)}});
}

}  // namespace distsim::serving
