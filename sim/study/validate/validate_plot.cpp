#include "sim/study/validate/validate_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "base/text/markup.hpp"
#include "base/text/printable.hpp"

namespace distsim::study {
namespace {

constexpr std::array<const char*, 13> kColours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                               "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0",
                                               "#1b7f79", "#c2185b", "#5d4037"};

std::string escaped(std::string_view text) { return in_markup(printable(text, 90)); }

/// A logarithmic axis from `low` to `high`, drawn from pixel `from` to pixel `to`.
struct Axis {
  double low, high, from, to;
  double at(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

struct Box {
  double x, y, width, height;
};

/// Decades of milliseconds that hold the values, or with `tight` the values with some room.
std::pair<double, double> range_of(const std::vector<double>& values, bool tight) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (tight) return {*low / 1.3, *high * 1.3};
  return {std::pow(10, std::floor(std::log10(*low))), std::pow(10, std::ceil(std::log10(*high) + 1e-9))};
}

class Picture {
 public:
  Picture(double width, double height) {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width, height);
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
  }
  void text(double x, double y, const std::string& t, const char* style = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, escaped(t));
  }
  void dot(double x, double y, const char* colour, const std::string& title) {
    out_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" fill-opacity=\"0.75\"><title>{}</title></circle>\n",
        x, y, colour, escaped(title));
  }
  void path(const std::vector<std::pair<double, double>>& points, const char* style) {
    std::string d;
    for (const auto& [x, y] : points) d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? "M" : "L", x, y);
    out_ += fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", d, style);
  }
  void frame(const Box& b) {
    out_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#999\"/>\n", b.x,
        b.y, b.width, b.height);
  }
  std::string take() { return std::move(out_) + "</svg>\n"; }

 private:
  std::string out_;
};

std::string milliseconds(double ms) {
  return ms >= 1000 ? fmt::format("{:.0f} s", ms / 1000) : fmt::format("{:g} ms", ms);
}

void scatter(Picture& picture, const Box& box, const std::vector<const ValidatedCase*>& cases) {
  std::vector<double> times;
  std::map<std::string, std::size_t> families;
  for (const auto* v : cases) {
    times.insert(times.end(), {*v->source->measured_ms, v->predicted_ms});
    families.try_emplace(v->source->family, families.size());
  }
  const auto [low, high] = range_of(times, false);
  const Axis x{low, high, box.x, box.x + box.width}, y{low, high, box.y + box.height, box.y};
  picture.frame(box);
  for (double t = low; t <= high * 1.001; t *= 10) {
    picture.line(x.at(t), box.y, x.at(t), box.y + box.height, "stroke=\"#eee\"");
    picture.line(box.x, y.at(t), box.x + box.width, y.at(t), "stroke=\"#eee\"");
    picture.text(x.at(t), box.y + box.height + 15, milliseconds(t), "text-anchor=\"middle\"");
    picture.text(box.x - 6, y.at(t) + 4, milliseconds(t), "text-anchor=\"end\"");
  }
  picture.line(x.at(low), y.at(low), x.at(high), y.at(high), "stroke=\"#333\"");
  picture.line(x.at(low), y.at(low * 1.2), x.at(high / 1.2), y.at(high), "stroke=\"#999\" stroke-dasharray=\"4 3\"");
  picture.line(x.at(low * 1.25), y.at(low), x.at(high), y.at(high * 0.8), "stroke=\"#999\" stroke-dasharray=\"4 3\"");
  for (const auto* v : cases) {
    const char* colour = kColours[families[v->source->family] % kColours.size()];
    picture.dot(x.at(*v->source->measured_ms), y.at(v->predicted_ms), colour,
                fmt::format("{}: measured {:.3g} ms, predicted {:.3g} ms", v->source->id, *v->source->measured_ms,
                            v->predicted_ms));
  }
  picture.text(box.x + box.width / 2, box.y + box.height + 34, "measured iteration", "text-anchor=\"middle\"");
  picture.text(box.x, box.y - 8, "predicted iteration; solid: equal to measured, dashed: +/- 20 %");
  for (const auto& [name, i] : families) {
    const double at = box.y + 14 + 16 * static_cast<double>(i);
    picture.dot(box.x + box.width + 18, at - 4, kColours[i % kColours.size()], name);
    picture.text(box.x + box.width + 28, at, name);
  }
}

using Series = std::map<std::string, std::vector<const ValidatedCase*>>;

Series plot_series(const std::vector<const ValidatedCase*>& cases) {
  Series out;
  for (const auto* v : cases) out[v->series].push_back(v);
  for (auto it = out.begin(); it != out.end();) {
    auto& list = it->second;
    std::stable_sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->gpus < b->gpus; });
    std::size_t sizes = 1;
    for (std::size_t i = 1; i < list.size(); ++i) sizes += list[i]->gpus != list[i - 1]->gpus;
    it = sizes < 3 || sizes != list.size() ? out.erase(it) : std::next(it);
  }
  return out;
}

void series_chart(Picture& picture, const Box& box, const std::vector<const ValidatedCase*>& cases) {
  std::vector<double> times, gpus;
  for (const auto* v : cases) {
    times.insert(times.end(), {*v->source->measured_ms, v->predicted_ms});
    gpus.push_back(static_cast<double>(v->gpus));
  }
  const auto [low, high] = range_of(times, true);
  const Axis x{gpus.front(), gpus.back(), box.x + 8, box.x + box.width - 8}, y{low, high, box.y + box.height, box.y};
  picture.frame(box);
  std::vector<std::pair<double, double>> measured, predicted;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    measured.push_back({x.at(gpus[i]), y.at(*cases[i]->source->measured_ms)});
    predicted.push_back({x.at(gpus[i]), y.at(cases[i]->predicted_ms)});
    picture.text(x.at(gpus[i]), box.y + box.height + 12, fmt::format("{:.0f}", gpus[i]),
                 "text-anchor=\"middle\" font-size=\"9\"");
  }
  picture.path(measured, "stroke=\"#333\" stroke-width=\"1.6\"");
  picture.path(predicted, "stroke=\"#4269d0\" stroke-width=\"1.6\" stroke-dasharray=\"5 3\"");
  picture.text(box.x + 4, box.y + 11, milliseconds(std::round(high)), "font-size=\"8\" fill=\"#777\"");
  picture.text(box.x + 4, box.y + box.height - 4, milliseconds(std::round(low * 10) / 10),
               "font-size=\"8\" fill=\"#777\"");
  const ValidatedCase& first = *cases.front();
  picture.text(box.x, box.y - 24, first.model, "font-size=\"9\" font-weight=\"bold\"");
  picture.text(box.x, box.y - 14, fmt::format("{}, {}", first.framework, first.precision), "font-size=\"8\"");
  picture.text(box.x, box.y - 4, first.system, "font-size=\"8\"");
}

}  // namespace

std::string validation_plot(const std::vector<ValidatedCase>& cases) {
  std::vector<const ValidatedCase*> predicted;
  for (const auto& v : cases) {
    if (v.measured() && v.predicted_ms > 0) predicted.push_back(&v);
  }
  constexpr double kWidth = 1000, kScatter = 560, kCell = 196, kChart = 110, kRow = 172;
  constexpr std::size_t kColumns = 5;
  const Series series = plot_series(predicted);
  const double rows = std::ceil(static_cast<double>(series.size()) / kColumns);
  Picture picture(kWidth, kScatter + (series.empty() ? 0 : 40 + rows * kRow));
  if (predicted.empty()) {
    picture.text(20, 30, "no measured case was predicted");
    return picture.take();
  }
  scatter(picture, {70, 40, 680, kScatter - 100}, predicted);
  if (!series.empty())
    picture.text(14, kScatter + 12,
                 "scaling series: time over GPUs, both axes logarithmic; black: measured, dashed blue: predicted");
  std::size_t i = 0;
  for (const auto& [key, list] : series) {
    series_chart(picture,
                 {14 + static_cast<double>(i % kColumns) * kCell,
                  kScatter + 56 + std::floor(static_cast<double>(i) / kColumns) * kRow, kCell - 20, kChart},
                 list);
    ++i;
  }
  return picture.take();
}

}  // namespace distsim::study
