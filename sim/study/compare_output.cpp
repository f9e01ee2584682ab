// Comparisons as CSV, text and HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/compare.hpp"

namespace distsim::study {
namespace {

using report::Report;
using report::html::escaped;

constexpr std::size_t kMostInputs = 24;  ///< differing keys in the text; all are in the HTML page
constexpr std::size_t kValueWidth = 26;
constexpr int kCellWidth = 19;  ///< "waiting for rank 17"
constexpr std::uint32_t kRanksShown = 4;

const Report& report_of(const ComparedSide& side) { return side.prediction.report; }

/// "A", "B", ...: sides are named once and then by letter.
std::string letter(std::size_t side) { return side < 26 ? std::string(1, char('A' + side)) : std::to_string(side + 1); }

std::string ratio_text(const Ratio& r) {
  const double change = 100 * (r.value - 1);
  const std::string words = std::abs(change) < 0.05
                                ? "the same time"
                                : fmt::format("{:.1f} % {}", std::abs(change), change < 0 ? "shorter" : "longer");
  return fmt::format("{:.3f} ({:.3f} .. {:.3f}), {}", r.value, r.low, r.high, words);
}

std::string table_row(const std::string& name, const std::vector<std::string>& cells) {
  std::string out = fmt::format("  {:<24}", name);
  for (const std::string& cell : cells) out += fmt::format("  {:>{}}", cell, kCellWidth);
  return out + "\n";
}

/// One line of the side-by-side table, from a function of a side.
template <class Cell>
std::string table_row_of(const Comparison& c, const std::string& name, Cell cell) {
  std::vector<std::string> cells;
  for (const ComparedSide& side : c.sides) cells.push_back(cell(report_of(side)));
  return table_row(name, cells);
}

std::string table(const Comparison& c) {
  std::vector<std::string> letters;
  for (std::size_t i = 0; i < c.sides.size(); ++i) letters.push_back(letter(i));
  std::string out = table_row("", letters);
  out += table_row_of(c, "iteration", [](const Report& r) { return report::time_text(r.iteration); });
  out += table_row_of(c, "low", [](const Report& r) { return report::time_text(r.low); });
  out += table_row_of(c, "high", [](const Report& r) { return report::time_text(r.high); });
  out += table_row_of(c, "samples/s", [](const Report& r) { return report::count_text(r.samples_per_second); });
  out += table_row_of(c, "GPUs", [](const Report& r) { return std::to_string(r.rank_count); });
  out += table_row_of(c, "limited by", [](const Report& r) { return report::text_of(r.limits.limited_by); });
  out += table_row_of(c, "MFU", [](const Report& r) { return fmt::format("{:.1f} %", 100 * r.mfu); });
  return out;
}

std::string inputs_text(const Comparison& c) {
  if (c.inputs.empty()) return "\nInputs: all the same\n";
  std::string out = "\nInputs that differ\n";
  for (std::size_t i = 0; i < std::min(c.inputs.size(), kMostInputs); ++i) {
    out += fmt::format("  {:<40}", c.inputs[i].key);
    for (const std::string& value : c.inputs[i].values)
      out += fmt::format(" {:>{}}", printable(value, kValueWidth), 20);
    out += "\n";
  }
  if (c.inputs.size() > kMostInputs)
    out += fmt::format("  ({} more {}, see --html)\n", c.inputs.size() - kMostInputs,
                       agreeing(c.inputs.size() - kMostInputs, "key", "keys"));
  return out;
}

/// From the first side's iteration to another's, part by part.
std::string waterfall(const Comparison& c, std::size_t side) {
  const double first = report_of(c.sides.front()).iteration.ms();
  std::string out = fmt::format("\nFrom A to {}{}\n  {:<24}{:>12.4f} ms\n", letter(side),
                                c.per_sample ? ", for the samples of A" : "", "A", first);
  for (const DifferencePart& part : c.parts[side])
    out +=
        fmt::format("  {:<24}{:>+12.4f} ms  ({:.4f} -> {:.4f})\n", part.name, part.change_ms(), part.first_ms, part.ms);
  return out + fmt::format("  {:<24}{:>12.4f} ms\n", letter(side), c.scaled_ms[side]);
}

std::string html_inputs(const Comparison& c) {
  std::string out = "<div class=\"scroll\"><table><thead><tr><th>key</th>";
  for (std::size_t i = 0; i < c.sides.size(); ++i) out += "<th>" + letter(i) + "</th>";
  out += "</tr></thead><tbody>";
  for (const InputDifference& d : c.inputs) {
    out += "<tr><td>" + escaped(d.key) + "</td>";
    for (const std::string& value : d.values) out += "<td>" + escaped(value) + "</td>";
    out += "</tr>";
  }
  return c.inputs.empty() ? "<p>All the same.</p>" : out + "</tbody></table></div>";
}

std::string html_sides(const Comparison& c) {
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th></th><th class=\"l\">experiment</th><th>iteration</th><th>range</th><th>samples/s</th>"
      "<th>time over that of A</th></tr></thead><tbody>";
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    const Report& r = report_of(c.sides[i]);
    out +=
        fmt::format("<tr><td>{}</td><td class=\"l\">{}</td><td>{}</td><td>{} .. {}</td><td>{}</td><td>{}</td></tr>",
                    letter(i), escaped(c.sides[i].name), escaped(report::time_text(r.iteration)),
                    escaped(report::time_text(r.low)), escaped(report::time_text(r.high)),
                    escaped(report::count_text(r.samples_per_second)), i == 0 ? "1" : escaped(ratio_text(c.ratios[i])));
  }
  return out + "</tbody></table></div>";
}

std::string html_waterfall(const Comparison& c, std::size_t side) {
  std::string out = "<div class=\"scroll\"><table><thead><tr><th>part</th><th>A, ms</th><th>" + letter(side) +
                    ", ms</th><th>change, ms</th></tr></thead><tbody>";
  const auto line = [&](std::string_view name, double first, double second) {
    out += fmt::format("<tr><td>{}</td><td>{:.4f}</td><td>{:.4f}</td><td>{:+.4f}</td></tr>", name, first, second,
                       second - first);
  };
  for (const DifferencePart& part : c.parts[side]) line(part.name, part.first_ms, part.ms);
  line("iteration", report_of(c.sides.front()).iteration.ms(), c.scaled_ms[side]);
  return out + "</tbody></table></div>";
}

std::string html_section(const std::string& heading, const std::string& body) {
  return "<section><h2>" + heading + "</h2>" + body + "</section>\n";
}

}  // namespace

std::string comparison_csv(const Comparison& c) {
  std::vector<std::string> header{"experiment", "ratio", "ratio_low", "ratio_high"};
  for (const std::string& name : report::csv_columns()) header.push_back(name);
  std::string out = csv_line(header);
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    const Ratio& r = c.ratios[i];
    std::vector<std::string> cells{c.sides[i].name, fmt::format("{:.6f}", r.value), fmt::format("{:.6f}", r.low),
                                   fmt::format("{:.6f}", r.high)};
    for (const std::string& value : report::csv_values(report_of(c.sides[i]))) cells.push_back(value);
    out += csv_line(cells);
  }
  return out;
}

std::string comparison_text(const Comparison& c) {
  std::string out;
  for (std::size_t i = 0; i < c.sides.size(); ++i)
    out += fmt::format("{}  {}\n", letter(i), printable(c.sides[i].name, 96));
  out += "\n" + table(c);
  if (c.per_sample) out += "\nThe batches differ: ratios and differences are per sample.\n";
  out += "\n";
  for (std::size_t i = 1; i < c.sides.size(); ++i)
    out += fmt::format("{} / A = {}\n", letter(i), ratio_text(c.ratios[i]));
  out += inputs_text(c);
  for (std::size_t i = 1; i < c.sides.size(); ++i) out += waterfall(c, i);
  return out;
}

std::string comparison_html(const Comparison& c) {
  Duration longest;
  for (const ComparedSide& side : c.sides) longest = std::max(longest, report_of(side).iteration);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Comparison</title><style>" +
      std::string(report::html::style()) + "</style></head><body><main>\n<header><h1>Comparison</h1></header>\n";
  out += html_section(
      "Experiments",
      html_sides(c) +
          (c.per_sample ? "<p class=\"note\">The batches differ: ratios and differences are per sample.</p>" : ""));
  for (std::size_t i = 1; i < c.sides.size(); ++i) out += html_section("From A to " + letter(i), html_waterfall(c, i));
  std::string pictures;
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    pictures +=
        "<h2>" + letter(i) + " <small>" + escaped(c.sides[i].name) + "</small></h2>" +
        report::html::timeline_picture(report_of(c.sides[i]), c.sides[i].prediction.played(), kRanksShown, longest);
  }
  out += html_section("Timelines, on one axis", pictures);
  out += html_section("Inputs that differ", html_inputs(c));
  return out + "<footer>Predicted by distsim.</footer></main></body></html>\n";
}

}  // namespace distsim::study
