// The table of a sweep for the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text/counted.hpp"
#include "base/text/printable.hpp"
#include "sim/study/points/progress.hpp"
#include "sim/study/sweep/columns.hpp"

namespace distsim::study {
namespace {

constexpr std::size_t kMostLines = 1000, kMostReasons = 5, kWidestKey = 40;

/// One column as it is printed.
struct Printed {
  std::string head;
  std::vector<std::string> cells;
  bool left = false;
};

/// Of a column's values, so that the smallest has about four digits.
int decimals_for(double smallest) {
  if (!(smallest > 0)) return 3;
  return std::clamp(3 - static_cast<int>(std::floor(std::log10(smallest))), 0, 3);
}

std::string word_for(const SweepPoint& point) {
  if (point.error == "interrupted") return "-";
  return point.figures.fits == Fits::no ? "memory" : "error";
}

/// It is predicted although it does not fit: with model.memory_check: false.
bool is_over_capacity(const SweepPoint& point) { return point.error.empty() && point.figures.fits == Fits::no; }

/// Fewer decimals than the column allows where its figures are large.
int decimals_of(const Column& column, const std::vector<SweepPoint>& points) {
  const bool time_or_rate =
      column.name.ends_with("_ms") || column.name.ends_with("_per_s") || column.name.ends_with("_per_gpu");
  double smallest = 0;
  for (const SweepPoint& p : points) {
    const double value = p.error.empty() && time_or_rate ? column.figure(p) : 0;
    if (value > 0 && (smallest == 0 || value < smallest)) smallest = value;
  }
  return time_or_rate ? decimals_for(smallest) : column.shown;
}

Printed printed(const Column& column, const std::vector<SweepPoint>& points) {
  Printed out{column.head, {}, column.axis.has_value() || column.figure == nullptr};
  const int decimals = column.figure != nullptr ? decimals_of(column, points) : 0;
  for (const SweepPoint& p : points) {
    std::string cell;
    if (column.axis) {
      cell = printable(p.values[*column.axis], kWidestKey);
    } else if (column.name == "error") {
      cell = p.error.empty() ? "" : word_for(p);
    } else if (!p.error.empty() && !column.always) {
      cell = column.name == "iteration_ms" ? word_for(p) : "";
    } else if (column.figure == nullptr) {
      cell = column.text(p);
    } else if (const double value = column.figure(p); !std::isnan(value)) {
      cell = fmt::format("{:.{}f}", value, decimals);
      if (column.name == "memory_gb" && is_over_capacity(p)) cell += " (too much)";
    }
    out.cells.push_back(std::move(cell));
  }
  return out;
}

/// "2.29 .. 3.40", both with the decimals of the smaller.
Printed range_column(const std::vector<SweepPoint>& points) {
  Printed out{"low .. high", {}};
  double smallest = 0;
  for (const SweepPoint& p : points) {
    if (p.error.empty() && p.figures.low_ms > 0 && (smallest == 0 || p.figures.low_ms < smallest))
      smallest = p.figures.low_ms;
  }
  const int decimals = std::max(0, decimals_for(smallest) - 1);
  for (const SweepPoint& p : points)
    out.cells.push_back(p.error.empty()
                            ? fmt::format("{:.{}f} .. {:.{}f}", p.figures.low_ms, decimals, p.figures.high_ms, decimals)
                            : "");
  return out;
}

/// What is shown of a sweep unless columns are chosen.
bool is_shown(const Column& column, const SweepRequest& request, const std::vector<SweepPoint>& points) {
  const bool scales = std::ranges::any_of(request.axes, counts_gpus);
  if (column.axis || column.name == "iteration_ms" || column.name == "samples_per_s" ||
      column.name == "exposed_comm_ms" || column.name == "memory_gb" || column.name == "limited_by" ||
      column.name == "mfu")
    return true;
  if (column.name == "gpus" || column.name == "scaling_efficiency") return scales;
  if (column.name == "global_batch")
    return std::ranges::none_of(request.axes, [](const SweepAxis& a) { return a.key == "model.global_batch"; });
  return column.name == "tokens_per_s_per_gpu" &&
         std::ranges::any_of(points, [](const SweepPoint& p) { return p.figures.tokens_per_s_per_gpu > 0; });
}

std::vector<Printed> usual_columns(const SweepRequest& request, const std::vector<SweepPoint>& points) {
  const std::vector<Column> all = all_columns(request);
  std::vector<Printed> out;
  const auto add = [&](const std::string& name) {
    const auto it = std::ranges::find(all, name, &Column::name);
    if (is_shown(*it, request, points)) out.push_back(printed(*it, points));
  };
  for (const SweepAxis& axis : request.axes) add(axis.key);
  for (const char* name : {"gpus", "global_batch", "iteration_ms"}) add(name);
  out.push_back(range_column(points));
  for (const char* name : {"samples_per_s", "tokens_per_s_per_gpu", "scaling_efficiency", "mfu", "exposed_comm_ms",
                           "memory_gb", "limited_by"})
    add(name);
  return out;
}

std::string layout(const std::vector<Printed>& columns, std::size_t lines) {
  std::vector<std::size_t> widths;
  for (const Printed& column : columns) {
    std::size_t width = column.head.size();
    for (const std::string& cell : column.cells) width = std::max(width, cell.size());
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = cell_of(columns[c]);
      text +=
          (columns[c].left ? fmt::format("{:<{}}", cell, widths[c]) : fmt::format("{:>{}}", cell, widths[c])) + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string out = line([](const Printed& c) { return c.head; });
  for (std::size_t i = 0; i < lines; ++i) out += line([i](const Printed& c) { return c.cells[i]; });
  return out;
}

/// The same for texts that differ in numbers alone.
std::string kind_of_reason(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = (c >= '0' && c <= '9') || c == '.';
    if (!digit || out.empty() || out.back() != '#') out += digit ? '#' : c;
  }
  return out;
}

struct Reason {
  std::uint64_t points = 0;
  bool memory = false;
  double lacks_gb = 0;
  std::string where, text;  ///< of the point that lacks least
};

void note_reason(std::map<std::string, Reason>& reasons, const SweepRequest& request, const SweepPoint& point) {
  const bool memory = point.figures.fits == Fits::no;
  const double lacks = point.figures.memory_gb > 0 ? point.figures.memory_gb - point.figures.capacity_gb : 1e30;
  Reason& reason = reasons[memory ? "" : kind_of_reason(point.error)];  // what does not fit comes first
  if (reason.points++ == 0 || (memory && lacks < reason.lacks_gb)) {
    reason = {reason.points, memory, lacks, name_of_point(request, point), point.error};
  }
}

}  // namespace

std::string name_of_point(const SweepRequest& request, const SweepPoint& point) {
  const std::vector<std::string> names = short_names(request.axes);
  std::string out;
  for (std::size_t a = 0; a < names.size(); ++a)
    out += (a > 0 ? " " : "") + names[a] + "=" + printable(point.values[a], kWidestKey);
  return out.empty() ? "this experiment" : out;
}

std::string reasons_text(const SweepResult& result) {
  std::map<std::string, Reason> reasons;
  for (std::size_t i = 0; i < result.size() && result.predicted() < result.size(); ++i) {
    const SweepPoint point = result.point(i);
    if (!point.error.empty() && point.error != "interrupted") note_reason(reasons, result.request(), point);
  }
  std::string out;
  std::size_t shown = 0;
  for (const auto& [kind, reason] : reasons) {
    if (++shown > kMostReasons) continue;
    const char* verb = reason.memory ? agreeing(reason.points, " does not fit", " do not fit").data() : "";
    out += fmt::format("{}: {}{}; {}{}: {}\n", reason.memory ? "memory" : "error", counted(reason.points, "point"),
                       verb, reason.points > 1 && reason.memory ? "nearest to it, " : "", reason.where, reason.text);
  }
  if (shown > kMostReasons) out += fmt::format("and {} of other errors\n", counted(shown - kMostReasons, "kind"));
  return out.empty() ? out : "\n" + out;
}

std::string sweep_table(const SweepView& view, const SweepResult& result) {
  const std::vector<std::size_t> order = order_of(view, result);
  const std::size_t lines = std::min(order.size(), kMostLines);
  std::vector<SweepPoint> points;
  points.reserve(lines);
  for (std::size_t i = 0; i < lines; ++i) points.push_back(result.point(order[i]));
  std::vector<Printed> columns;
  if (!view.chosen) columns = usual_columns(result.request(), points);
  for (const Column& column : view.columns) {
    if (view.chosen) columns.push_back(printed(column, points));
  }
  std::string out = layout(columns, lines);
  if (lines < order.size())
    out += fmt::format("... and {} more points; --csv FILE has all of them\n", grouped(order.size() - lines));
  return out + reasons_text(result);
}

}  // namespace distsim::study
