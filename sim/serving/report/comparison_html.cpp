#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/markup.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::serving {
namespace {

// Colours of Okabe and Ito, which people with any kind of colour blindness tell apart.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr double kWidth = 720, kHeight = 320, kLeft = 64, kBottom = 36, kTop = 12, kRight = 150;

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Axis {
  std::string title;
  bool logarithmic = false;
};

/// Curves over two axes, with ticks at both ends and a legend.
std::string chart(const std::vector<Curve>& curves, const Axis& x, const Axis& y) {
  double x0 = std::numeric_limits<double>::infinity(), x1 = -x0, y0 = x0, y1 = -x0;
  const auto on = [](const Axis& axis, double v) { return axis.logarithmic ? std::log10(std::max(v, 1e-9)) : v; };
  for (const Curve& curve : curves) {
    for (const auto& [px, py] : curve.points) {
      x0 = std::min(x0, on(x, px));
      x1 = std::max(x1, on(x, px));
      y0 = std::min(y0, on(y, py));
      y1 = std::max(y1, on(y, py));
    }
  }
  if (!(x1 >= x0)) return "";
  if (x1 == x0) x1 = x0 + 1;
  if (y1 == y0) y1 = y0 + 1;
  const auto at_x = [&](double v) { return kLeft + (on(x, v) - x0) / (x1 - x0) * (kWidth - kLeft - kRight); };
  const auto at_y = [&](double v) {
    return kHeight - kBottom - (on(y, v) - y0) / (y1 - y0) * (kHeight - kBottom - kTop);
  };
  const auto label = [](const Axis& axis, double v) {
    return fmt::format("{:.3g}", axis.logarithmic ? std::pow(10, v) : v);
  };
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\"><path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#888\"/>",
                  kWidth, kHeight, kLeft, kTop, kHeight - kBottom, kWidth - kRight);
  out += fmt::format("<text x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLeft,
                     kHeight - kBottom + 16, label(x, x0), kWidth - kRight, kHeight - kBottom + 16, label(x, x1));
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (kLeft + kWidth - kRight) / 2,
                     kHeight - 4, in_markup(x.title));
  out += fmt::format(
      "<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\">{2}</text><text x=\"{0}\" y=\"{3}\" text-anchor=\"end\">{4}</text>",
      kLeft - 4, kHeight - kBottom, label(y, y0), kTop + 10, label(y, y1));
  out += fmt::format("<text x=\"12\" y=\"{0}\" transform=\"rotate(-90 12 {0})\" text-anchor=\"middle\">{1}</text>",
                     (kTop + kHeight - kBottom) / 2, in_markup(y.title));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::string path;
    for (const auto& [px, py] : curves[i].points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_x(px), at_y(py));
    const double line = kTop + 12 + 16 * static_cast<double>(i);
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>", path, colour);
    out += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>", kWidth - kRight + 8, line, colour,
                       in_markup(curves[i].name));
  }
  return out + "</svg>\n";
}

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
  const std::string title = in_markup(c.experiment->title);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title +
      "</title>\n<style>body{font:14px system-ui,sans-serif;margin:2em;max-width:70em}table{border-collapse:"
      "collapse}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,"
      "td:nth-child(2),th:first-child,th:nth-child(2){text-align:left}svg{max-width:720px;font-size:11px}"
      "</style></head><body>\n<h1>" +
      title + "</h1>\n";
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
