#include <fmt/format.h>

#include "base/text/markup.hpp"
#include "sim/serving/report/chart.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

/// Share of requests that are answered within a time, for each policy at the first rate.
std::vector<Curve> distributions(const Comparison& c) {
  constexpr int kSteps = 200;
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < c.experiment->policies.size(); ++i) {
    const Point& p = c.points[i];
    const Quantiles& q = p.result.all.latency_ps;
    if (!p.error.empty() || q.count() == 0) continue;
    Curve curve{p.policy->name, {}};
    for (int k = 0; k <= kSteps; ++k) {
      const double share = static_cast<double>(k) / kSteps;
      curve.points.emplace_back(static_cast<double>(q.quantile(share)) * 1e-9, share);
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

/// 99th percentile over the rate, for each policy.
std::vector<Curve> load_curves(const Comparison& c) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < c.experiment->policies.size(); ++i) {
    Curve curve{c.experiment->policies[i]->name, {}};
    for (std::size_t at = i; at < c.points.size(); at += c.experiment->policies.size()) {
      const Point& p = c.points[at];
      if (p.error.empty() && p.result.all.answered() > 0)
        curve.points.emplace_back(figures_of(*c.experiment, p, c.experiment->scenario.models.size()).rate_per_s,
                                  static_cast<double>(p.result.all.latency_ps.quantile(0.99)) * 1e-9);
    }
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

std::string html_row(const Comparison& c, const Point& p, std::size_t model) {
  if (!p.error.empty())
    return fmt::format("<tr><td>{}</td><td colspan=\"10\">{}</td></tr>\n", p.policy->name, in_markup(p.error));
  const Figures f = figures_of(*c.experiment, p, model);
  const Tally& t = *f.tally;
  std::string cells;
  for (const double q : {0.5, 0.9, 0.99, 0.999})
    cells += t.answered() == 0 ? "<td></td>"
                               : fmt::format("<td>{:.4g}</td>", static_cast<double>(t.latency_ps.quantile(q)) * 1e-9);
  return fmt::format(
      "<tr><td>{}{}</td><td>{}</td><td>{:.4g}</td><td>{}</td><td>{:.4g}</td>{}<td>{:.4g}</td><td>{:.4g}</td><td>{:.1f}</td></tr>\n",
      p.policy->name, p.result.unstable ? " (unstable)" : "", in_markup(f.model), f.rate_per_s, t.requests,
      t.latency_ms.mean(), cells, f.throughput_per_s, f.goodput_per_s, 100 * f.utilisation);
}

}  // namespace

std::string comparison_html(const Comparison& c) {
  std::string out = page_head(c.experiment->title);
  out +=
      "<table><tr><th>policy</th><th>model</th><th>offered/s</th><th>requests</th><th>mean ms</th><th>p50 ms</th>"
      "<th>p90 ms</th><th>p99 ms</th><th>p99.9 ms</th><th>served/s</th><th>goodput/s</th><th>busy %</th></tr>\n";
  const std::size_t models = c.experiment->scenario.models.size();
  for (const Point& p : c.points) {
    out += html_row(c, p, models);
    for (std::size_t m = 0; m < models && p.error.empty() && models > 1; ++m) out += html_row(c, p, m);
  }
  out += "</table>\n<h2>Distribution of latency</h2>\n" +
         chart(distributions(c), {"latency (ms)", true}, {"share of requests"});
  if (c.experiment->rates_per_s.size() > 1)
    out += "<h2>Latency over load</h2>\n" + chart(load_curves(c), {"requests/s"}, {"99th percentile (ms)", true});
  return out + "</body></html>\n";
}

}  // namespace distsim::serving
