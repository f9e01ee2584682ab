#include "sim/report/text/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <tuple>

#include "base/text/printable.hpp"

namespace distsim::report {
namespace {

std::string scaled(double value, double step, const std::array<const char*, 6>& units) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int digits = unit == 0                ? (value == std::floor(value) ? 0 : 1)
                     : std::abs(value) >= 100 ? 0
                     : std::abs(value) >= 10  ? 1
                                              : 2;
  return fixed(value, digits) + units[unit];
}

std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size() && columns > 0) {
    at += std::max<std::size_t>(1, utf8_character_length(text.substr(at)));
    --columns;
  }
  return at;
}

}  // namespace

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) value = 0;
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

TimeScale time_scale(Duration d) {
  const double s = d.seconds();
  TimeScale scale = s >= 1e4              ? TimeScale{"h", 1.0 / 3600}
                    : s >= 10             ? TimeScale{"s", 1}
                    : s >= 1e-4 || s <= 0 ? TimeScale{"ms", 1e3}
                                          : TimeScale{"us", 1e6};
  const double value = s * scale.per_second;
  scale.digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  return scale;
}

std::string time_text(Duration d) {
  const TimeScale scale = time_scale(d);
  return scale.text(d) + " " + scale.unit;
}

std::string count_text(double value) { return scaled(value, 1000, {"", " k", " M", " G", " T", " P"}); }
std::string binary_bytes(double bytes) { return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}); }
std::string decimal_bytes(double bytes) { return scaled(bytes, 1000, {" B", " KB", " MB", " GB", " TB", " PB"}); }
std::string percent_text(double a, double b) { return fixed(b > 0 ? 100 * a / b : 0, 1); }

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0);
    if (length == 0 || control)
      out += '?';
    else
      out += text.substr(at, length);
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  if (width <= 2) return std::string(text.substr(0, bytes_of_columns(text, width)));
  return std::string(text.substr(0, bytes_of_columns(text, width - 2))) + "..";
}

std::string shortened_inside(std::string_view text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns <= width) return std::string(text);
  if (width < 8) return shortened(text, width);
  const std::size_t tail = (width - 2) * 2 / 5,
                    head = width - 2 - tail;  // the tail is what tells such names apart, the head what they are
  std::string_view first = text.substr(0, bytes_of_columns(text, head)),
                   last = text.substr(bytes_of_columns(text, columns - tail));
  while (first.ends_with('.')) first.remove_suffix(1);  // no "embedding...dgrad"
  while (last.starts_with('.')) last.remove_prefix(1);
  return std::string(first) + ".." + std::string(last);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = shortened(text, width);
  return out + std::string(width - columns_of(out), ' ');
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::string out = shortened(text, width);
  return std::string(width - columns_of(out), ' ') + out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string current;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word(text.substr(at, space - at));
    if (!current.empty() && columns_of(current) + 1 + columns_of(word) > width) {
      lines.push_back(current);
      current = "  " + word;
    } else {
      current += (current.empty() ? "" : " ") + word;
    }
    at = space + 1;
  }
  if (!current.empty()) lines.push_back(current);
  return lines;
}

std::string shorter_stretches(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " shorter segment" : " shorter segments") + " in between";
}

std::string phase_text(std::string_view phase) {
  std::string out(phase);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string machine_text(const ReportContext& c) {
  const std::string gpu = c.device.empty() ? "GPU" : one_line(c.device);
  return std::to_string(c.nodes) + " x " + std::to_string(c.gpus_per_node) + " " + gpu;
}

std::vector<PathRun> path_runs(const std::vector<CriticalStep>& path) {
  std::vector<PathRun> runs;
  std::vector<std::pair<std::string_view, std::string_view>> names;  // first and last of each run
  for (const CriticalStep& s : path) {
    const bool same =
        !runs.empty() && runs.back().stream == s.stream && runs.back().phase == s.phase && runs.back().rank == s.rank;
    if (!same) {
      runs.push_back({"", s.stream, s.phase, s.rank, 0, s.start, {}});
      names.emplace_back(s.name, s.name);
    }
    runs.back().steps += s.steps;
    runs.back().time += s.time;
    names.back().second = s.name;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [first, last] = names[i];
    runs[i].name = first == last ? std::string(first) : std::string(first) + " .. " + std::string(last);
  }
  return runs;
}

namespace {

constexpr std::size_t kManyRuns = 100;

/// The path's time by stream, phase and op kind, in order of their first steps.
std::vector<PathRun> path_causes(const std::vector<CriticalStep>& path) {
  std::vector<PathRun> causes;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> row_of;
  for (const CriticalStep& s : path) {
    const auto [at, is_new] = row_of.try_emplace({s.stream, s.phase, s.kind}, causes.size());
    if (is_new)
      causes.push_back(
          {s.phase == "host" ? "launches and framework overhead" : s.kind, s.stream, s.phase, 0, 0, s.start, {}});
    causes[at->second].steps += s.steps;
    causes[at->second].time += s.time;
  }
  return causes;
}

Duration time_of(const std::vector<PathRun>& rows) {
  Duration sum;
  for (const PathRun& row : rows) sum += row.time;
  return sum;
}

std::vector<PathRun> taken(const std::vector<PathRun>& runs, const std::vector<std::size_t>& which) {
  std::vector<PathRun> out;
  for (const std::size_t i : which) out.push_back(runs[i]);
  return out;
}

}  // namespace

PathTable path_table(const std::vector<CriticalStep>& path, std::size_t most) {
  std::vector<PathRun> runs = path_runs(path);
  PathTable out;
  out.rows = taken(runs, longest_runs(runs, most));
  if (runs.size() > kManyRuns && time_of(out.rows) + time_of(out.rows) < time_of(runs)) {
    out.by_cause = true;
    runs = path_causes(path);
    std::ranges::stable_sort(runs, [](const PathRun& a, const PathRun& b) { return a.time > b.time; });
    out.rows = taken(runs, longest_runs(runs, most));
  }
  out.left_out = runs.size() - out.rows.size();
  out.shown = time_of(out.rows);
  return out;
}

std::string PathTable::left_out_text() const {
  if (!by_cause) return shorter_stretches(left_out);
  return std::to_string(left_out) + (left_out == 1 ? " smaller cause" : " smaller causes");
}

std::string host_note(const Report& r) {
  const auto share = [&](Duration d) {
    return percent_text(static_cast<double>(d.ps()), static_cast<double>(r.iteration.ps())) + " %";
  };
  Duration host;
  for (const CriticalStep& s : r.critical_path) {
    if (s.phase == "host") host += s.time;
  }
  if (host <= r.host_bound + Duration::picoseconds(r.iteration.ps() / 50)) return "";
  return "(host on the critical path " + share(host) + ", in the bar " + share(r.host_bound) +
         ": launches also overlap with compute and communication)";
}

std::vector<std::size_t> longest_runs(const std::vector<PathRun>& runs, std::size_t most) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return runs[a].time > runs[b].time; });
  if (order.size() > most) order.resize(most);
  std::ranges::sort(order);
  return order;
}

}  // namespace distsim::report
