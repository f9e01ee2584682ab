#include "sim/app/serving_sweep_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/page.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/study/points/progress.hpp"
#include "sim/study/sweep/sweep.hpp"

namespace distsim::app {
namespace {

using SweepJson = nlohmann::ordered_json;

constexpr std::size_t kMostRows = 4000;  // so that a page stays below 1 MB
constexpr std::size_t kLongest = 60;
constexpr std::string_view kFirst = "p99_ms";  // what is drawn until another figure is chosen

/// What a page says of a row: web/src/app/pictures/charts.tsx.
enum class Mark : std::uint8_t { played, does_not_fit, error, above_capacity };

/// One policy at one rate of one point.
struct Cell {
  std::size_t point = 0, policy = 0, rate = 0;
  const double* figures = nullptr;  ///< none: an error
};

/// All cells, and what policies and rates they have. Policies are in the order in which they are first met; a policy that
/// is played at several rates has one cell for each.
struct Cells {
  std::vector<study::Row> rows;
  std::vector<std::string> policies;
  std::vector<std::string> rates;  ///< fewer than two: one cell for each policy
  std::vector<Cell> all;
  std::map<std::string, std::size_t> reasons;  ///< and how many cells have them
  std::size_t played = 0;
};

/// "400" where all points offer this rate as their n-th, else "rate 2".
void name_rates(Cells& cells, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    double offered = 0;
    bool same = true;
    for (const Cell& cell : cells.all) {
      if (cell.rate != r || cell.figures == nullptr) continue;
      same = same && (offered == 0 || std::abs(cell.figures[kOffered] / offered - 1) < 1e-6);
      offered = cell.figures[kOffered];
    }
    cells.rates.push_back(same && offered > 0 ? fmt::format("{:.4g}", offered) : fmt::format("rate {}", r + 1));
  }
}

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  const auto it = std::ranges::find(names, name);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

Cells cells_of(const ServingSweep& sweep, const study::Rows& rows) {
  Cells out;
  std::size_t most_rates = 0;
  out.rows.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const study::Row& row = out.rows.emplace_back(rows.has(i) ? shown_row(sweep, rows, i) : study::Row());
    if (!row.error.empty()) ++out.reasons[row.error];
    std::map<std::string, std::size_t> met;
    for (std::size_t p = 0; p < row.texts.size() / 2; ++p) {
      const std::string &policy = row.texts[2 * p], &error = row.texts[2 * p + 1];
      const std::size_t rate = met[policy]++;
      most_rates = std::max(most_rates, rate + 1);
      if (error.empty())
        ++out.played;
      else
        ++out.reasons[error];
      out.all.push_back({i, place_of(out.policies, policy), rate,
                         error.empty() ? row.figures.data() + p * kServingColumnCount : nullptr});
    }
  }
  if (most_rates > 1) name_rates(out, most_rates);
  return out;
}

SweepJson texts_of(const std::vector<std::string>& values) {
  SweepJson out = SweepJson::array();
  for (const std::string& value : values) out.push_back(printable(value, kLongest));
  return out;
}

/// The swept keys, the rates where there are several, and the policies.
SweepJson axes_of(const ServingSweep& sweep, const Cells& cells) {
  SweepJson out = SweepJson::array();
  const std::vector<std::string> names = heads_of_axes(sweep);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    out.push_back({{"key", printable(sweep.axes[a].key, kLongest)},
                   {"name", printable(names[a], kLongest)},
                   {"values", texts_of(sweep.axes[a].values)}});
  if (!cells.rates.empty())
    out.push_back({{"key", "run.rates_per_s"}, {"name", "offered/s"}, {"values", texts_of(cells.rates)}});
  out.push_back({{"key", "policy"}, {"name", "policy"}, {"values", texts_of(cells.policies)}});
  return out;
}

/// Columns in the order of the page: the one that is drawn first, then the others.
std::vector<std::size_t> columns_of_page() {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < kServingColumnCount; ++c) {
    if (!kServingColumns[c].head.empty()) out.push_back(c);
  }
  std::stable_partition(out.begin(), out.end(), [](std::size_t c) { return kServingColumns[c].name == kFirst; });
  return out;
}

SweepJson point_of(const ServingSweep& sweep, const Cells& cells, const Cell& cell,
                   const std::vector<std::size_t>& columns) {
  std::vector<std::size_t> places(sweep.axes.size());
  for (std::size_t a = places.size(), index = cell.point; a-- > 0; index /= sweep.axes[a].values.size())
    places[a] = index % sweep.axes[a].values.size();
  SweepJson out(places);
  if (!cells.rates.empty()) out.push_back(cell.rate);
  out.push_back(cell.policy);
  for (const std::size_t c : columns) {
    // A latency of nothing that was answered is -1.
    const bool has = cell.figures != nullptr && std::isfinite(cell.figures[c]) && cell.figures[c] >= 0;
    out.push_back(has ? SweepJson(std::stod(fmt::format("{:.6g}", cell.figures[c]))) : SweepJson(nullptr));
  }
  const Mark mark = cell.figures == nullptr         ? Mark::error
                    : cell.figures[kSaturation] > 0 ? Mark::above_capacity
                                                    : Mark::played;
  out.push_back(static_cast<int>(mark));
  return out;
}

/// The title of the experiment, or the name of its file.
std::string title_of_sweep(const ServingSweep& sweep, const std::string& title) {
  const std::string first = title.empty() ? sweep.config : title;
  std::string keys;
  for (const std::string& name : study::short_names(sweep.axes)) keys += (keys.empty() ? "" : ", ") + name;
  return first + (keys.empty() ? "" : ": " + keys);
}

}  // namespace

std::vector<std::string> heads_of_axes(const ServingSweep& sweep) {
  std::vector<std::string> heads = study::short_names(sweep.axes);
  for (std::size_t a = 0; a < heads.size(); ++a) {
    if (std::ranges::find(kServingColumns, heads[a], &ServingColumn::head) != std::end(kServingColumns))
      heads[a] = sweep.axes[a].key;
  }
  return heads;
}

std::string serving_sweep_page(const ServingSweep& sweep, const std::string& own_title, const study::Rows& rows,
                               const std::string& text) {
  const Cells cells = cells_of(sweep, rows);
  const std::vector<std::size_t> columns = columns_of_page();
  SweepJson figures = SweepJson::array(), points = SweepJson::array();
  for (const std::size_t c : columns)
    figures.push_back({{"name", kServingColumns[c].name}, {"head", kServingColumns[c].head}});
  for (const Cell& cell : cells.all) {
    if (points.size() < kMostRows) points.push_back(point_of(sweep, cells, cell, columns));
  }
  std::string reasons;
  for (const auto& [reason, count] : cells.reasons) reasons += counted(count, "row") + ": " + reason + "\n";
  const std::string title = title_of_sweep(sweep, own_title);
  const std::string facts = counted(rows.size(), "combination") + " of keys, " +
                            counted(cells.policies.size(), "policy", "policies") + "; " + sweep.config;
  const std::string note = points.size() < cells.all.size()
                               ? "The page holds the first " + grouped(points.size()) + " of " +
                                     grouped(cells.all.size()) + " rows; --csv has all."
                               : "";
  const SweepJson data{{"kind", "serving_sweep"}, {"title", title},   {"facts", facts}, {"axes", axes_of(sweep, cells)},
                       {"figures", figures},      {"points", points}, {"note", note},   {"reasons", reasons}};
  return report::page_html({title, json_text(data), title + "\n" + facts + "\n" + text + reasons});
}

}  // namespace distsim::app
