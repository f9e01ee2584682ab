// The page of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/report/html/page.hpp"
#include "sim/study/points/progress.hpp"
#include "sim/study/sweep/columns.hpp"

namespace distsim::study {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOnPage = 4000;  // so that a page stays below 1 MB
constexpr std::size_t kLongestValue = 60;

/// Figures that the page can draw.
std::vector<Column> page_figures(const SweepResult& result, const std::vector<SweepPoint>& points) {
  const bool scales = std::ranges::any_of(result.request().axes, counts_gpus);
  const bool tokens =
      std::ranges::any_of(points, [](const SweepPoint& p) { return p.figures.tokens_per_s_per_gpu > 0; });
  std::vector<Column> out;
  for (const Column& column : all_columns(result.request())) {
    const std::string& name = column.name;
    const bool always = name == "iteration_ms" || name == "low_ms" || name == "high_ms" || name == "samples_per_s" ||
                        name == "mfu" || name == "exposed_comm_ms" || name == "memory_gb";
    if (always || (name == "tokens_per_s_per_gpu" && tokens) ||
        ((name == "gpus" || name == "scaling_efficiency") && scales))
      out.push_back(column);
  }
  return out;
}

/// The points that the page shows: all, or those with the most samples per second.
std::vector<std::size_t> points_of_page(const SweepResult& result) {
  std::vector<std::size_t> all(result.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= kMostOnPage) return all;
  std::vector<double> rates;
  rates.reserve(all.size());
  for (const std::size_t i : all) {
    const SweepPoint point = result.point(i);
    rates.push_back(point.error.empty() ? point.figures.samples_per_s : -1);
  }
  std::ranges::stable_sort(all, [&](std::size_t a, std::size_t b) { return rates[a] > rates[b]; });
  all.resize(kMostOnPage);
  std::ranges::sort(all);
  return all;
}

/// Six digits: more than a chart shows.
json number_for_page(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6g}", value));
}

json axes_for_page(const SweepRequest& request) {
  const std::vector<std::string> names = short_names(request.axes);
  json out = json::array();
  for (std::size_t a = 0; a < request.axes.size(); ++a) {
    json values = json::array();
    for (const std::string& value : request.axes[a].values) values.push_back(printable(value, kLongestValue));
    out.push_back({{"key", printable(request.axes[a].key, kLongestValue)},
                   {"name", printable(names[a], kLongestValue)},
                   {"values", std::move(values)}});
  }
  return out;
}

json point_for_page(const SweepRequest& request, std::size_t index, const SweepPoint& point,
                    const std::vector<Column>& figures) {
  json out = json::array();
  std::vector<std::size_t> places(request.axes.size());
  for (std::size_t a = places.size(); a-- > 0; index /= request.axes[a].values.size())
    places[a] = index % request.axes[a].values.size();
  for (const std::size_t place : places) out.push_back(place);
  for (const Column& column : figures)
    out.push_back(point.error.empty() || column.always ? number_for_page(column.figure(point)) : json(nullptr));
  out.push_back(point.error.empty() ? 0 : point.figures.fits == Fits::no ? 1 : 2);
  return out;
}

json data_of_page(const SweepResult& result, const std::vector<std::size_t>& shown) {
  std::vector<SweepPoint> points;
  for (const std::size_t i : shown) points.push_back(result.point(i));
  const std::vector<Column> figures = page_figures(result, points);
  json data{{"axes", axes_for_page(result.request())}, {"figures", json::array()}, {"points", json::array()}};
  for (const Column& column : figures) data["figures"].push_back({{"name", column.name}, {"head", column.head}});
  for (std::size_t i = 0; i < shown.size(); ++i)
    data["points"].push_back(point_for_page(result.request(), shown[i], points[i], figures));
  return data;
}

/// "23.5 M samples/s in 2.785 ms: nodes=1", of the points that fit; of all where none does.
std::string best_of(const SweepResult& result) {
  std::size_t best = result.size();
  double rate = 0;
  bool fits = false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const SweepPoint point = result.point(i);
    const bool has_room = point.figures.fits != Fits::no;
    if (!point.error.empty() || (fits && !has_room)) continue;
    if (fits == has_room && point.figures.samples_per_s <= rate) continue;
    fits = has_room;
    rate = point.figures.samples_per_s;
    best = i;
  }
  if (best == result.size()) return "no point has a prediction";
  const SweepPoint point = result.point(best);
  return fmt::format("most samples per second: {} in {:.4g} ms per iteration, with {}{}", rate_text(rate),
                     point.figures.iteration_ms, name_of_point(result.request(), point),
                     fits ? "" : ", which does not fit: no point does");
}

}  // namespace

std::string sweep_html(const SweepResult& result, const std::string& title) {
  const std::vector<std::size_t> shown = points_of_page(result);
  const std::string facts = fmt::format("{} of {} points predicted; {}", grouped(result.predicted()),
                                        grouped(result.size()), best_of(result));
  std::string note;
  if (shown.size() < result.size())
    note = "The page holds the " + grouped(shown.size()) + " points with the most samples per second; --csv has all.";
  const std::string reasons = reasons_text(result);
  json data = data_of_page(result, shown);
  data["kind"] = "sweep";
  data["title"] = title;
  data["facts"] = facts;
  data["note"] = note;
  data["reasons"] = reasons;
  return report::page_html({title, json_text(data), title + "\n" + facts + "\n" + reasons});
}

}  // namespace distsim::study
