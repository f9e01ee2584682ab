#include "sim/serving/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/text/markup.hpp"

namespace distsim::serving {
namespace {

// Colours of Okabe and Ito, which people with any kind of colour blindness tell apart.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr double kWidth = 720, kHeight = 320, kLeft = 64, kBottom = 36, kTop = 12, kRight = 150;

}  // namespace

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

std::string page_head(const std::string& title) {
  const std::string text = in_markup(title);
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + text +
         "</title>\n<style>body{font:14px system-ui,sans-serif;margin:2em;max-width:70em}table{border-collapse:"
         "collapse}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,"
         "td:nth-child(2),th:first-child,th:nth-child(2){text-align:left}svg{max-width:720px;font-size:11px}"
         "</style></head><body>\n<h1>" +
         text + "</h1>\n";
}

}  // namespace distsim::serving
