// Comparisons as CSV, text and HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/html/page.hpp"
#include "sim/report/text/format.hpp"
#include "sim/study/compare.hpp"

namespace distsim::study {
namespace {

using report::Report;

constexpr std::size_t kMostInputs = 24;  ///< differing keys in the text; all are in the HTML page
constexpr std::size_t kValueWidth = 26;
constexpr int kCellWidth = 19;                ///< "waiting for rank 17"
constexpr std::uint32_t kRanksShown = 4;      ///< on the page, of each side
constexpr std::size_t kSlicesShown = 16'000;  ///< of all sides

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

/// As it is written: what rounds to nothing has no sign.
double shown_ms(double ms) { return std::abs(ms) < 0.5e-4 ? 0 : ms; }

/// From the first side's iteration to another's, part by part.
std::string waterfall(const Comparison& c, std::size_t side) {
  const double first = report_of(c.sides.front()).iteration.ms();
  std::string out = fmt::format("\nFrom A to {}{}\n  {:<24}{:>12.4f} ms\n", letter(side),
                                c.per_sample ? ", for the samples of A" : "", "A", first);
  for (const DifferencePart& part : c.parts[side])
    out += fmt::format("  {:<24}{:>+12.4f} ms  ({:.4f} -> {:.4f})\n", part.name, shown_ms(part.change_ms()),
                       shown_ms(part.first_ms), shown_ms(part.ms));
  return out + fmt::format("  {:<24}{:>12.4f} ms\n", letter(side), c.scaled_ms[side]);
}

nlohmann::ordered_json parts_json(const std::vector<DifferencePart>& parts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const DifferencePart& part : parts)
    out.push_back({{"name", part.name}, {"first_ms", part.first_ms}, {"ms", part.ms}});
  return out;
}

/// All but the report and the timeline.
nlohmann::ordered_json side_json(const Comparison& c, std::size_t side) {
  const Ratio& r = c.ratios[side];
  return {{"letter", letter(side)},
          {"name", c.sides[side].name},
          {"ratio", {{"value", r.value}, {"low", r.low}, {"high", r.high}, {"text", side == 0 ? "1" : ratio_text(r)}}},
          {"scaled_ms", c.scaled_ms[side]},
          {"parts", parts_json(c.parts[side])}};
}

nlohmann::ordered_json inputs_json(const Comparison& c) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const InputDifference& d : c.inputs) out.push_back({{"key", d.key}, {"values", d.values}});
  return out;
}

std::string dumped_for_page(const nlohmann::ordered_json& json) { return json_text(json); }

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
  std::string sides;
  const report::HtmlOptions options{.max_ranks = kRanksShown,
                                    .max_slices = kSlicesShown / c.sides.size(),
                                    .max_bytes = report::HtmlOptions{}.max_bytes / c.sides.size(),
                                    .links = ""};
  for (std::size_t i = 0; i < c.sides.size(); ++i) {
    std::string side = dumped_for_page(side_json(c, i));
    side.back() = ',';
    sides += (i > 0 ? "," : "") + side +
             report::page_members(report_of(c.sides[i]), c.sides[i].prediction.played(), options) + "}";
  }
  const std::string data = "{\"kind\":\"compare\",\"per_sample\":" + std::string(c.per_sample ? "true" : "false") +
                           ",\"inputs\":" + dumped_for_page(inputs_json(c)) + ",\"sides\":[" + sides + "]}";
  return report::page_html({"Comparison", data, comparison_text(c)});
}

}  // namespace distsim::study
