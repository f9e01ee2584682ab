#include "traces/hugectr/hugectr_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/text/markup.hpp"
#include "base/text/printable.hpp"

namespace distsim::traces {
namespace {

constexpr double kLeft = 190, kRight = 20, kWidth = 1200, kRow = 30, kTop = 34, kBarWidth = 46;
constexpr std::array<const char*, 10> kColours{"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f",
                                               "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"};

std::string number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

std::string escaped(std::string_view text) { return in_markup(printable(text, 200)); }

/// The same colour for the same label, in order of appearance.
class Colours {
 public:
  const char* of(const std::string& label) {
    return kColours[index_.emplace(label, index_.size()).first->second % kColours.size()];
  }

 private:
  std::map<std::string, std::size_t> index_;
};

class Svg {
 public:
  void rect(double x, double y, double width, double height, const char* colour, const std::string& title) {
    body_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" +
             number(height) + "\" fill=\"" + colour + "\" stroke=\"#333\" stroke-width=\"0.3\"><title>" +
             escaped(title) + "</title></rect>\n";
  }
  void text(double x, double y, const std::string& text, const char* anchor = "start") {
    body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + escaped(text) +
             "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2) {
    body_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
             "\" stroke=\"#ddd\"/>\n";
  }
  std::string finish(double width, double height) const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(height) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           body_ + "</svg>\n";
  }

 private:
  std::string body_;
};

/// A round step of 1, 2 or 5 times a power of ten that cuts `range` into at most 10 parts.
double tick_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(std::max(range, 1e-9) / 10)));
  for (const double f : {1.0, 2.0, 5.0}) {
    if (range / (power * f) <= 10) return power * f;
  }
  return power * 10;
}

std::string times_of(const HugectrTimedEvent& e) {
  return e.label + ": " + number(e.median_duration_ms) + " ms from " + number(e.median_start_ms) + " ms";
}

double last_moment(const std::vector<HugectrHost>& hosts) {
  double last = 0;
  for (const HugectrHost& host : hosts) {
    last = std::max(last, host.median_iter_time_ms);
    for (const auto& [device, streams] : host.timeline) {
      for (const auto& [stream, events] : streams) {
        for (const auto& e : events) last = std::max(last, e.median_start_ms + e.median_duration_ms);
      }
    }
  }
  return std::max(last, 1e-6);
}

double height_of(const HugectrRun& run) {
  double mean = 0, most = 0;
  for (const auto& e : run.job.summaries) {
    mean += e.outer ? e.mean_ms : 0;
    most += e.outer ? e.max_ms : 0;
  }
  return std::max({run.job.iteration_ms, mean, most});
}

}  // namespace

std::string hugectr_timeline_svg(const std::vector<HugectrHost>& hosts) {
  Svg svg;
  Colours colours;
  const double last = last_moment(hosts), scale = (kWidth - kLeft - kRight) / last;
  double y = kTop, slowest = 0;
  for (const HugectrHost& host : hosts) {
    slowest = std::max(slowest, host.median_iter_time_ms);
    for (const auto& [device, streams] : host.timeline) {
      for (const auto& [stream, events] : streams) {
        std::uint32_t deepest = 0;
        for (const auto& e : events) deepest = std::max(deepest, std::min(e.level, 3u));
        const double part = (kRow - 6) / (deepest + 1);
        svg.text(4, y + kRow / 2 + 2,
                 host.host_name + " device " + std::to_string(device) + " stream " + std::to_string(stream));
        for (const auto& e : events) {
          svg.rect(kLeft + e.median_start_ms * scale, y + 3 + part * std::min(e.level, 3u),
                   e.median_duration_ms * scale, part, colours.of(e.label), times_of(e));
        }
        y += kRow;
      }
    }
  }
  svg.text(4, y + kRow / 2 + 2, "Whole Iteration");
  svg.rect(kLeft, y + 3, slowest * scale, kRow - 6, "#bbb",
           "slowest host's iteration (median): " + number(slowest) + " ms");
  y += kRow;
  const double step = tick_step(last);
  for (int i = 0; i * step <= last; ++i) {
    svg.line(kLeft + i * step * scale, kTop - 4, kLeft + i * step * scale, y);
    svg.text(kLeft + i * step * scale, kTop - 10, number(i * step) + (i == 0 ? " ms" : ""), "middle");
  }
  return svg.finish(kWidth, y + 10);
}

std::string hugectr_scaling_svg(const std::vector<HugectrRun>& runs) {
  constexpr double kHeight = 420, kBase = kTop + kHeight, kAxis = 60, kLegend = 420;
  Svg svg;
  Colours colours;
  double highest = 1e-6;
  for (const HugectrRun& run : runs) highest = std::max(highest, height_of(run));
  const double scale = kHeight / highest, group = 3 * kBarWidth + 40;
  const double right = kAxis + group * static_cast<double>(runs.size());
  const double step = tick_step(highest);
  for (int i = 0; i * step <= highest; ++i) {
    svg.line(kAxis, kBase - i * step * scale, right, kBase - i * step * scale);
    svg.text(kAxis - 6, kBase - i * step * scale + 4, number(i * step), "end");
  }
  svg.text(6, kTop - 12, "ms");
  std::vector<std::string> legend;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const HugectrRun& run = runs[r];
    const double x = kAxis + 20 + group * static_cast<double>(r);
    const double iteration = run.job.iteration_ms;
    svg.rect(x, kBase - iteration * scale, kBarWidth - 4, iteration * scale, "#888",
             run.name + ": iteration " + number(iteration) + " ms");
    double mean = 0, most = 0;
    for (const auto& e : run.job.summaries) {
      if (!e.outer) continue;
      mean += e.mean_ms;
      most += e.max_ms;
      svg.rect(x + kBarWidth, kBase - mean * scale, kBarWidth - 4, e.mean_ms * scale, colours.of(e.label),
               e.label + ": mean " + number(e.mean_ms) + " ms");
      svg.rect(x + 2 * kBarWidth, kBase - most * scale, kBarWidth - 4, e.max_ms * scale, colours.of(e.label),
               e.label + ": maximum " + number(e.max_ms) + " ms");
      if (std::find(legend.begin(), legend.end(), e.label) == legend.end()) legend.push_back(e.label);
    }
    const std::array<const char*, 3> what{"iteration", "mean", "max"};
    for (std::size_t b = 0; b < what.size(); ++b)
      svg.text(x + kBarWidth * (static_cast<double>(b) + 0.5), kBase + 14, what[b], "middle");
    svg.text(x + 1.5 * kBarWidth, kBase + 30, run.name, "middle");
  }
  for (std::size_t i = 0; i < legend.size(); ++i) {
    const double y = kTop + 16 * static_cast<double>(i);
    svg.rect(right + 10, y, 10, 10, colours.of(legend[i]), legend[i]);
    svg.text(right + 26, y + 9, legend[i]);
  }
  return svg.finish(right + kLegend, std::max(kBase + 44, kTop + 16 * static_cast<double>(legend.size()) + 10));
}

}  // namespace distsim::traces
