#include "sim/report/picture/pipeline_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "base/text/counted.hpp"
#include "sim/report/picture/stage_rows.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report {
namespace {

constexpr double kLeft = 64, kRight = 1076, kSvgWidth = 1080;  // in SVG units, about a pixel each
constexpr double kTop = 40;                                    // legend and axis
constexpr double kBoxWidth = 3;                                // from here on a box has an edge
constexpr double kDigitWidth = 5.7, kLabelMargin = 3;
constexpr std::uint32_t kMostStages = 64;
constexpr std::size_t kMostBytes = 450'000, kMostTitles = 1500;
constexpr std::uint32_t kMostShades = 4;  // of chunks
constexpr double kSameHeight = 0.3;       // of the parts of neighbouring stacks that are drawn as one
constexpr double kPalest = 0.6;           // share of white in the last chunk's boxes

using Colour3 = std::array<int, 3>;
constexpr std::array<std::string_view, kStageWorks> kWorkClass{"f", "r", "b", "w", "c", "o", "i"};
constexpr std::array<Colour3, kStageWorks> kWorkFill{
    {{86, 180, 233}, {0, 114, 178}, {230, 159, 0}, {0, 158, 115}, {204, 121, 167}, {240, 228, 66}, {223, 228, 234}}};

std::size_t index_of(StageWork work) { return static_cast<std::size_t>(work); }

std::string css_colour(const Colour3& c, double white) {
  std::string out = "#";
  for (const int part : c) {
    const auto mixed = static_cast<unsigned>(std::lround(part + (255 - part) * white));
    out += "0123456789abcdef"[mixed / 16];
    out += "0123456789abcdef"[mixed % 16];
  }
  return out;
}

/// At most two digits, none that say nothing.
std::string short_number(double value) {
  std::string out = fixed(value, 2);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string text_at(double x, double y, std::string_view attributes, const std::string& what) {
  return "<text x=\"" + short_number(x) + "\" y=\"" + short_number(y) + "\"" + std::string(attributes) + ">" + what +
         "</text>";
}

/// A rectangle as a part of a path.
std::string outline(double x, double y, double width, double height) {
  return "M" + short_number(x) + " " + short_number(y) + "h" + short_number(width) + "v" + short_number(height) + "h" +
         short_number(-width) + "z";
}

class PipelineDrawing {
 public:
  PipelineDrawing(const StageRows& rows, const graph::PipelineOrder& order)
      : rows_(rows),
        order_(order),
        shades_(std::min(order.chunks, kMostShades)),
        height_(std::clamp(std::floor(480.0 / static_cast<double>(rows.rows.size())), 10.0, 30.0)) {
    std::size_t boxes = 0;
    for (const StageRow& row : rows_.rows) boxes += row.slices.size();
    titles_ = boxes <= kMostTitles;
  }

  /// `finest`: narrower boxes are merged.
  std::string draw(double finest) const {
    std::string body;
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) body += row(i, finest);
    const std::string size = "0 0 " + short_number(kSvgWidth) + " " + short_number(bottom() + 18);
    return "<svg class=\"pp\" viewBox=\"" + size +
           "\" xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" role=\"img\" aria-label=\"Schedule of the pipeline\"><style>" +
           style() + "</style>" + "<rect class=\"card\" width=\"100%\" height=\"100%\"/>" + legend() + axis() + body +
           text_at(0, bottom() + 13, "", caption()) + "</svg>";
  }

 private:
  double bottom() const { return kTop + (height_ + 2) * static_cast<double>(rows_.rows.size()); }
  double x_of(std::int64_t t) const {
    return kLeft +
           (kRight - kLeft) * static_cast<double>(t - rows_.begin) / static_cast<double>(rows_.end - rows_.begin);
  }

  std::uint32_t shade_of(const StageSlice& s) const {
    return s.pass == nullptr || shades_ < 2 ? 0 : s.pass->chunk * (shades_ - 1) / (order_.chunks - 1);
  }
  static std::string class_of(StageWork work, std::uint32_t shade) {
    return std::string(kWorkClass[index_of(work)]) + (shade > 0 ? std::to_string(shade) : "");
  }

  std::string style() const {
    std::string out;
    for (std::size_t w = 0; w < kStageWorks; ++w) {
      const std::uint32_t shades = w <= index_of(StageWork::weights) ? shades_ : 1;
      for (std::uint32_t s = 0; s < shades; ++s) {
        out += ".pp ." + class_of(static_cast<StageWork>(w), s) +
               "{fill:" + css_colour(kWorkFill[w], shades < 2 ? 0 : kPalest * s / (shades - 1)) + "}";
      }
    }
    out +=
        ".pp .e{stroke:#fff;stroke-width:.7}.pp text{font-size:11px;fill:#5d6b7c}.pp .t{stroke:#8795a5;stroke-width:.4}";
    out += ".pp text.n{font-size:10px;fill:#10202c;text-anchor:middle;pointer-events:none}";
    out += ".pp .card{fill:#fff}";
    out += "@media(prefers-color-scheme:dark){.pp .i{fill:#343e4b}.pp .e{stroke:#1a2029}.pp text{fill:#95a2b3}";
    return out + ".pp .card{fill:#1a2029}}";
  }

  bool has(StageWork work) const {
    return std::ranges::any_of(rows_.rows, [&](const StageRow& row) {
      return std::ranges::any_of(row.slices, [&](const StageSlice& s) { return s.work == work; });
    });
  }

  std::string legend() const {
    const bool splits = has(StageWork::weights);
    const std::array<std::string_view, kStageWorks> names{"forward",
                                                          "forward computed again",
                                                          splits ? "backward, or of inputs" : "backward",
                                                          "backward of weights",
                                                          "communication",
                                                          "optimizer",
                                                          "idle: the pipeline's bubble"};
    std::string out;
    double x = kLeft;
    for (std::size_t w = 0; w < kStageWorks; ++w) {
      if (!has(static_cast<StageWork>(w))) continue;
      out += "<rect class=\"" + std::string(kWorkClass[w]) + "\" x=\"" + short_number(x) +
             "\" y=\"3\" width=\"11\" height=\"11\"/>";
      out += text_at(x + 16, 12.5, "", std::string(names[w]));
      x += 34 + 5.9 * static_cast<double>(names[w].size());
    }
    if (order_.chunks > 1) out += text_at(x, 12.5, "", "paler: later chunks of the stage");
    return out;
  }

  /// Ticks at a round number of a unit, 5 to 12 of them.
  std::string axis() const {
    const Duration span = Duration::picoseconds(rows_.end - rows_.begin);
    const TimeScale scale = time_scale(span);
    const double length = span.seconds() * scale.per_second;
    double step = std::pow(10, std::floor(std::log10(length)));
    step /= length / step < 2.5 ? 5 : length / step < 6 ? 2 : 1;
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    std::string out;
    for (int i = 0; i * step <= length * (1 + 1e-9) && i < 40; ++i) {
      const double x = kLeft + (kRight - kLeft) * i * step / length;
      out += "<path class=\"t\" d=\"M" + short_number(x) + " " + short_number(kTop - 14) + "V" +
             short_number(bottom()) + "\"/>";
      if (x < kRight - 24)
        out += text_at(x + 3, kTop - 5, "", fixed(i * step, digits) + (i == 0 ? " " + scale.unit : ""));
    }
    return out;
  }

  std::string caption() const {
    std::string out = counted(order_.of_stage.size(), "stage");
    if (rows_.rows.size() < order_.of_stage.size()) out = std::to_string(rows_.rows.size()) + " of " + out;
    const auto all = static_cast<std::uint64_t>(order_.in_iteration);
    out += ", ";
    if (order_.micro_batches < order_.in_iteration) out += "the first " + std::to_string(order_.micro_batches) + " of ";
    out += counted(all, "micro-batch", "micro-batches") + "; the first rank of each stage; idle " +
           fixed(100 * rows_.idle, 1) + " % of what is drawn";
    if (order_.micro_batches < order_.in_iteration) out += ", less in the whole iteration";
    return out;
  }

  std::string title_of(const StageRow& row, const StageSlice& s) const {
    static constexpr std::array<std::string_view, kStageWorks> kNames{
        "forward", "forward computed again", "backward", "backward of weights", "communication", "optimizer", "idle"};
    std::string out = "stage " + std::to_string(row.stage) + ", " + std::string(kNames[index_of(s.work)]);
    if (s.pass != nullptr) out += " of micro-batch " + std::to_string(s.pass->micro_batch + 1);
    if (s.pass != nullptr && order_.chunks > 1) out += " in chunk " + std::to_string(s.pass->chunk + 1);
    return out + ": " + time_text(Duration::picoseconds(s.end - s.begin)) + " from " +
           time_text(Duration::picoseconds(s.begin - rows_.begin));
  }

  /// Outlines by class, boxes with an edge apart.
  using Paths = std::map<std::pair<std::string, bool>, std::string>;

  std::string row(std::size_t index, double finest) const {
    const StageRow& row = rows_.rows[index];
    const double y = kTop + (height_ + 2) * static_cast<double>(index);
    Paths paths;
    std::string boxes, labels;
    std::optional<Stack> stack;  // the last one, which the next may continue
    const auto flush = [&] {
      if (stack) draw_stack(*stack, y, paths);
      stack.reset();
    };
    for (std::size_t i = 0; i < row.slices.size();) {
      std::size_t end = i + 1;
      const double from = x_of(row.slices[i].begin);
      while (end < row.slices.size() && x_of(row.slices[end - 1].end) - from < finest &&
             x_of(row.slices[end].end) - x_of(row.slices[end].begin) < finest)
        ++end;
      if (end == i + 1) {
        flush();
        box(row, row.slices[i], y, paths, boxes, labels);
      } else {
        const Stack next = stack_of(std::span(row.slices).subspan(i, end - i));
        if (stack && next.continues(*stack)) {
          stack->to = next.to;
        } else {
          flush();
          stack = next;
        }
      }
      i = end;
    }
    flush();
    std::string out = text_at(0, y + height_ / 2 + 4, "", "stage " + std::to_string(row.stage)) +
                      "<rect class=\"i\" x=\"" + short_number(kLeft) + "\" y=\"" + short_number(y) + "\" width=\"" +
                      short_number(kRight - kLeft) + "\" height=\"" + short_number(height_) + "\"/>";
    for (const auto& [key, d] : paths)
      out += "<path class=\"" + key.first + (key.second ? " e" : "") + "\" d=\"" + d + "\"/>";
    return out + boxes + labels;
  }

  void box(const StageRow& row, const StageSlice& s, double y, Paths& paths, std::string& boxes,
           std::string& labels) const {
    if (s.work == StageWork::idle) return;
    const double x = x_of(s.begin), width = std::max(0.2, x_of(s.end) - x);
    const std::string name = class_of(s.work, shade_of(s));
    const bool edge = width >= kBoxWidth;
    if (edge && titles_) {
      boxes += "<rect class=\"" + name + " e\" x=\"" + short_number(x) + "\" y=\"" + short_number(y) + "\" width=\"" +
               short_number(width) + "\" height=\"" + short_number(height_) + "\"><title>" + title_of(row, s) +
               "</title></rect>";
    } else {
      paths[{name, edge}] += outline(x, y, width, height_);
    }
    if (s.pass == nullptr || s.work == StageWork::recompute) return;  // the backward box beside it has the number
    const std::string label = std::to_string(s.pass->micro_batch + 1);
    if (width >= kDigitWidth * static_cast<double>(label.size()) + kLabelMargin)
      labels += text_at(x + width / 2, y + height_ / 2 + 3.5, " class=\"n\"", label);
  }

  /// Several slices as one box: its parts are as high as their shares of the time.
  struct Stack {
    double from = 0, to = 0;
    std::array<double, kStageWorks> heights{};
    bool continues(const Stack& other) const {
      if (std::abs(from - other.to) > 0.01) return false;
      for (std::size_t w = 0; w < kStageWorks; ++w)
        if (std::abs(heights[w] - other.heights[w]) > kSameHeight) return false;
      return true;
    }
  };

  Stack stack_of(std::span<const StageSlice> slices) const {
    Stack out{x_of(slices.front().begin), x_of(slices.back().end), {}};
    const auto all = static_cast<double>(slices.back().end - slices.front().begin);
    for (const StageSlice& s : slices)
      out.heights[index_of(s.work)] += height_ * static_cast<double>(s.end - s.begin) / all;
    return out;
  }

  static void draw_stack(const Stack& stack, double y, Paths& paths) {
    for (std::size_t w = 0; w < index_of(StageWork::idle); ++w) {
      const double part = stack.heights[w];
      if (part < 0.05) continue;
      paths[{class_of(static_cast<StageWork>(w), 0), false}] += outline(stack.from, y, stack.to - stack.from, part);
      y += part;
    }
  }

  const StageRows& rows_;
  const graph::PipelineOrder& order_;
  const std::uint32_t shades_;
  const double height_;
  bool titles_ = false;  ///< each box says what it is
};

}  // namespace

std::string pipeline_picture(const Played& played, const graph::PipelineOrder& order) {
  const std::optional<StageRows> rows = stage_rows(played, order, kMostStages);
  if (!rows) return "";
  const PipelineDrawing drawing(*rows, order);
  double finest = 1;
  std::string out = drawing.draw(finest);
  while (out.size() > kMostBytes && finest < kRight) out = drawing.draw(finest *= 2);
  return out;
}

}  // namespace distsim::report
