// A plan as a page: the winner, a chart of time and memory, the table.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/plan/plan.hpp"

namespace distsim::study {
namespace {

using report::html::escaped;

constexpr double kChartWidth = 640, kChartHeight = 260, kMargin = 48;

double gigabytes(const PlanRow& row) {
  const auto& m = row.report.context.memory_per_rank;
  return m.empty() ? 0 : static_cast<double>(*std::ranges::max_element(m)) * 1e-9;
}

/// Values of the rows along an axis.
struct ChartAxis {
  double low = 0, high = 1;
  double at(double value, double length) const {
    return high > low ? (value - low) / (high - low) * length : length / 2;
  }
};

template <class Get>
ChartAxis axis_over(const Plan& plan, Get get) {
  ChartAxis out{std::numeric_limits<double>::infinity(), 0};
  for (const PlanRow& row : plan.rows) {
    if (!row.error.empty()) continue;
    out.low = std::min(out.low, get(row));
    out.high = std::max(out.high, get(row));
  }
  return out;
}

/// Iteration across, memory upwards; rows that nothing beats in both are filled.
std::string plan_chart(const Plan& plan) {
  const auto time = [](const PlanRow& r) { return r.report.iteration.ms(); };
  const ChartAxis x = axis_over(plan, time), y = axis_over(plan, gigabytes);
  const double width = kChartWidth - 2 * kMargin, height = kChartHeight - 2 * kMargin;
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"100%\" role=\"img\" aria-label=\"Iteration across, memory upwards\">",
      kChartWidth, kChartHeight);
  out += fmt::format("<path d=\"M{0} {0}V{1}H{2}\" fill=\"none\" stroke=\"currentColor\"/>", kMargin,
                     kChartHeight - kMargin, kChartWidth - kMargin);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& row = plan.rows[i];
    if (!row.error.empty()) continue;
    const bool front = std::ranges::none_of(plan.rows, [&](const PlanRow& o) {
      return o.error.empty() && time(o) <= time(row) && gigabytes(o) <= gigabytes(row) &&
             (time(o) < time(row) || gigabytes(o) < gigabytes(row));
    });
    const bool base = row.kind != PlanRowKind::candidate;
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" stroke=\"currentColor\" fill=\"{}\"><title>{}: {}, {:.1f} GB</title></circle>",
        kMargin + x.at(time(row), width), kChartHeight - kMargin - y.at(gigabytes(row), height),
        base    ? "#e8a33d"
        : front ? "currentColor"
                : "none",
        base ? "baseline" : "row " + std::to_string(i + 1), escaped(report::time_text(row.report.iteration)),
        gigabytes(row));
  }
  const double bottom = kChartHeight - kMargin / 3;
  out += fmt::format("<text x=\"{}\" y=\"{}\">{:.4g} ms</text>", kMargin, bottom, x.low);
  out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g} ms</text>", kChartWidth - kMargin, bottom,
                     x.high);
  out += fmt::format("<text x=\"2\" y=\"{}\">{:.1f}</text><text x=\"2\" y=\"{}\">{:.1f} GB</text>",
                     kChartHeight - kMargin, y.low, kMargin, y.high);
  return out + "</svg>";
}

std::string html_table(const Plan& plan) {
  const std::vector<std::size_t> keys = shown_keys(plan);
  std::string out = "<table><tr><th></th><th>iteration</th>";
  for (const std::size_t k : keys) out += "<th>" + escaped(plan.heads[k]) + "</th>";
  out += "<th>samples/s</th><th>MFU</th><th>memory</th><th>slower by, most</th></tr>\n";
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const PlanRow& row = plan.rows[i];
    const bool ok = row.error.empty();
    out += "<tr><td>" + (row.kind == PlanRowKind::candidate ? std::to_string(i + 1) : std::string("baseline")) +
           "</td><td class=\"n\">" + (ok ? report::time_text(row.report.iteration) : "") + "</td>";
    for (const std::size_t k : keys) out += "<td>" + escaped(printable(row.values[k], 80)) + "</td>";
    out += ok ? fmt::format(
                    "<td class=\"n\">{:.1f}</td><td class=\"n\">{:.1f} %</td><td class=\"n\">{:.1f} GB</td><td>{}</td>",
                    row.report.samples_per_second, 100 * row.report.mfu, gigabytes(row), escaped(row.why_slower))
              : "<td></td><td></td><td></td><td>" + escaped(printable(row.error, 200)) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>";
}

std::string summary_paragraphs(const Plan& plan) {
  std::string out;
  for (const std::string& line : plan_summary(plan)) out += "<p>" + escaped(line) + "</p>";
  return out;
}

}  // namespace

std::string plan_html(const Plan& plan) {
  const std::string title = escaped(printable(plan.subject, 200)) + ": plan";
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>" +
         title + "</title><style>" + std::string(report::html::style()) +
         "td.n{white-space:nowrap;text-align:right}svg{max-width:760px}svg text{font-size:11px;fill:currentColor}.wide{overflow-x:auto}</style></head><body><main>\n<h1>" +
         title + "</h1>\n<section>" + summary_paragraphs(plan) +
         "</section>\n<section><h2>Iteration and memory of the fullest GPU</h2>" + plan_chart(plan) +
         "<p>Filled: nothing shown is better in both. Orange: the experiment as it is.</p></section>\n<section class=\"wide\">" +
         html_table(plan) + "</section><footer>Predicted by distsim.</footer></main></body></html>\n";
}

}  // namespace distsim::study
