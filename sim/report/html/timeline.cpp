// The timeline picture: what the streams of the ranks do in one period.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/text/counted.hpp"
#include "sim/report/html/parts.hpp"
#include "sim/report/rank_sweep.hpp"
#include "sim/report/steady_state.hpp"
#include "sim/report/text/columns.hpp"
#include "sim/report/text/format.hpp"

namespace distsim::report::html {
namespace {

constexpr double kGutter = 176, kWidth = 1078;  ///< left of the lanes, and right edge, in SVG units
constexpr double kHair = 0.35;                  ///< gaps and slices below this are merged with their neighbours

struct Lane {
  std::string_view name;
  double height;
};

/// A coloured rectangle on a lane.
struct Bar {
  std::int64_t begin = 0, end = 0;
  Colour colour = Colour::other;
  std::string name;
  std::string where = {};  ///< follows the name in the bar's title
};

/// Chooses which ranks are shown: the slowest, the fastest, then one of each class, the largest classes first.
std::vector<std::uint32_t> chosen_ranks(const Report& r, const RankClasses& classes, std::uint32_t most) {
  std::vector<std::uint32_t> out{r.slowest_rank};
  if (r.fastest_rank != r.slowest_rank && most > 1) out.push_back(r.fastest_rank);
  std::vector<std::uint32_t> order(classes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return classes.count[a] > classes.count[b]; });
  for (const std::uint32_t c : order) {
    if (out.size() >= most) break;
    if (std::ranges::none_of(out, [&](std::uint32_t rank) { return classes.of(rank) == c; }))
      out.push_back(classes.first[c]);
  }
  std::ranges::sort(out);
  return out;
}

class Picture {
 public:
  Picture(const Report& report, const Played& played, std::uint32_t max_ranks, Duration axis)
      : r_(report),
        p_(played),
        state_(steady_state(played)),
        span_(std::max(axis, Duration::picoseconds(state_.period()))),
        classes_(rank_classes(state_, played.program->ranks)),
        ranks_(chosen_ranks(report, classes_, std::max(1u, max_ranks))) {}

  std::string draw() {
    if (state_.period() <= 0) return "<p class=\"note\">No step takes any time.</p>";
    choose_lanes();
    const double height = total_height();
    std::string body = axis(height);
    double y = 26;
    y = draw_path(body, y);
    for (const std::uint32_t rank : ranks_) y = draw_rank(body, rank, y);
    return "<svg viewBox=\"0 0 1080 " + fixed(height, 0) +
           "\" role=\"img\" aria-label=\"Streams of the ranks over one iteration\">" + body + "</svg>" + note();
  }

 private:
  void choose_lanes() {
    const double scale = ranks_.size() <= 1 ? 2.2 : ranks_.size() <= 4 ? 1.6 : ranks_.size() <= 8 ? 1.3 : 1;
    std::array<bool, graph::kStreamCount> used{};
    for (const engine::Step& s : p_.program->steps) used[s.stream.value()] = true;
    for (const graph::Stream s :
         {graph::Stream::host, graph::Stream::copy, graph::Stream::compute, graph::Stream::comm,
          graph::Stream::comm.lane(1), graph::Stream::p2p, graph::Stream::p2p.lane(1), graph::Stream::p2p.lane(2)}) {
      const auto i = static_cast<std::size_t>(s);
      if (used[i])
        lanes_.push_back({i,
                          {graph::name_of(s), scale * (s == graph::Stream::compute                            ? 13
                                                       : s == graph::Stream::host || s == graph::Stream::copy ? 7
                                                                                                              : 10)}});
    }
  }

  double rank_height() const {
    double h = 10;
    for (const auto& [stream, lane] : lanes_) h += lane.height + 1;
    return h;
  }
  double total_height() const { return 26 + 30 + rank_height() * static_cast<double>(ranks_.size()); }

  double x_of(std::int64_t t) const {
    return kGutter + (kWidth - kGutter) * static_cast<double>(t - state_.begin) / static_cast<double>(span_.ps());
  }

  static std::string text(double x, double y, const std::string& what, std::string_view attributes) {
    return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" " + std::string(attributes) + ">" + what +
           "</text>";
  }

  /// Ticks at a round number of the iteration's unit, 5 to 12 of them.
  std::string axis(double height) const {
    const TimeScale scale = time_scale(span_);
    const double period = span_.seconds() * scale.per_second;
    double step = std::pow(10, std::floor(std::log10(period)));
    if (period / step < 2.5)
      step /= 5;
    else if (period / step < 6)
      step /= 2;
    std::string out;
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    for (int i = 0; i * step <= period * (1 + 1e-9) && i < 40; ++i) {
      const double x = kGutter + (kWidth - kGutter) * i * step / period;
      out += "<line class=\"tick\" x1=\"" + fixed(x, 1) + "\" x2=\"" + fixed(x, 1) + "\" y1=\"16\" y2=\"" +
             fixed(height, 0) + "\"/>";
      if (x < kWidth - 20) out += text(x + 3, 12, fixed(i * step, digits) + (i == 0 ? " " + scale.unit : ""), "");
    }
    return out;
  }

  double draw_path(std::string& out, double y) const {
    std::vector<Bar> bars;
    const Duration folded = r_.iteration - Duration::picoseconds(state_.period());  // micro-steps that were not played
    for (const CriticalStep& s : r_.critical_path) {
      if (s.start < folded) continue;
      const std::int64_t begin = state_.begin + (r_.cycle_start + s.start - folded).ps(), end = begin + s.time.ps();
      const auto add = [&](std::int64_t from, std::int64_t to) {
        if (to > from)
          bars.push_back(
              {from, to, colour_of(s.phase, is_comm(s.stream)), s.name, " on rank " + std::to_string(s.rank)});
      };
      add(begin, std::min(end, state_.end));  // the rest of the cycle is shown where the iteration before it had it
      add(std::max(begin, state_.end) - state_.period(), end - state_.period());
    }
    std::ranges::stable_sort(bars, {}, &Bar::begin);
    out += text(0, y + 11, r_.cycle_closed ? "critical cycle" : "critical path", "class=\"rank\"");
    draw_bars(out, bars, y, 15);
    return y + 30;
  }

  std::vector<Bar> bars_of(std::size_t stream, std::uint32_t rank) {
    std::vector<Bar> out;
    const auto add = [&](std::int64_t begin, std::int64_t end, Colour colour, const std::string& name) {
      std::vector<Piece> pieces;
      fold_into_window(state_, {begin, end, 0, 0}, pieces);
      for (const Piece& piece : pieces) out.push_back({piece.begin, piece.end, colour, name});
    };
    const graph::TaskGraph& graph = p_.costed->graph;
    for (std::uint32_t i = 0; i < p_.program->steps.size(); ++i) {
      const StepId s(i);
      const StepOrigin& o = (*p_.origins)[s];
      if (o.iteration + 1 != p_.iterations || p_.program->steps[s].stream.value() != stream) continue;
      const std::int64_t ready = p_.timeline->ready[s].at(rank), start = p_.timeline->start[s].at(rank);
      const std::int64_t end = std::min(p_.timeline->end[s].at(rank), state_.end);
      const std::string name = o.task.valid() ? graph.names[graph.tasks[o.task].name] : "framework step";
      const bool collective = o.role == StepRole::device && graph.tasks[o.task].partition.valid();
      if (collective) add(ready, start, Colour::waiting, "wait " + name);
      add(start, end, o.role == StepRole::device ? colour_of(graph.tasks[o.task].phase, collective) : Colour::host,
          o.role == StepRole::host_dispatch ? "launch " + name : name);
    }
    std::ranges::stable_sort(out, {}, &Bar::begin);
    return out;
  }

  double draw_rank(std::string& out, std::uint32_t rank, double y) {
    out += text(0, y + 12, label(rank), "class=\"rank\"");
    const std::string remark = remark_on(rank);
    if (!remark.empty()) out += text(0, y + 25, remark, "");
    for (const auto& [stream, lane] : lanes_) {
      out += "<rect class=\"lane\" x=\"" + fixed(kGutter, 1) + "\" y=\"" + fixed(y, 1) + "\" width=\"" +
             fixed(kWidth - kGutter, 1) + "\" height=\"" + fixed(lane.height, 1) + "\"/>";
      out += text(kGutter - 6, y + lane.height / 2 + 3.2, std::string(lane.name),
                  "text-anchor=\"end\" style=\"font-size:9px\"");
      draw_bars(out, bars_of(stream, rank), y, lane.height);
      y += lane.height + 1;
    }
    return y + 10;
  }

  std::string label(std::uint32_t rank) const {
    if (classes_.size() == 1) return r_.rank_count == 1 ? "rank 0" : "all " + counted(r_.rank_count, "rank");
    return "rank " + std::to_string(rank);
  }

  /// What is special about a rank, and how many have its times.
  std::string remark_on(std::uint32_t rank) const {
    if (classes_.size() == 1) return r_.rank_count == 1 ? "" : "identical times";
    const std::uint32_t ranks = classes_.count[classes_.of(rank)];
    std::string out;
    if (rank == r_.slowest_rank && r_.ranks.size() > 1)
      out = "slowest";
    else if (rank == r_.fastest_rank && r_.ranks.size() > 1)
      out = "fastest";
    if (ranks > 1) out += (out.empty() ? "" : ", ") + std::to_string(ranks) + " identical";
    return out;
  }

  /// Neighbours of one colour that are too thin to tell apart become one bar.
  void draw_bars(std::string& out, const std::vector<Bar>& bars, double y, double height) const {
    for (std::size_t i = 0; i < bars.size();) {
      const double from = x_of(bars[i].begin);
      double to = x_of(bars[i].end);
      std::size_t j = i + 1;
      bool thin = to - from < 1.5;
      while (j < bars.size() && bars[j].colour == bars[i].colour && x_of(bars[j].begin) - to < kHair &&
             (thin || x_of(bars[j].end) - x_of(bars[j].begin) < 1.5)) {
        to = std::max(to, x_of(bars[j].end));
        ++j;
        thin = true;
      }
      draw_bar(out, bars, i, j, {from, to, y, height});
      i = j;
    }
  }

  /// The name, or a shortened one that still tells something, or nothing.
  static std::string label_within(const std::string& name, double width) {
    constexpr std::size_t kLeastCut = 12;
    const auto room = static_cast<std::size_t>(std::max(0.0, width / 5.9));
    std::string label = shortened_inside(one_line(name), room);
    return columns_of(one_line(name)) <= room || room >= kLeastCut ? label : "";
  }

  struct Box {
    double from, to, y, height;
  };
  void draw_bar(std::string& out, const std::vector<Bar>& bars, std::size_t first, std::size_t end,
                const Box& box) const {
    const double width = std::max(0.4, box.to - box.from);
    out += "<rect class=\"" + std::string(css_of(bars[first].colour)) + (width > 3 ? " edge" : "") + "\" x=\"" +
           fixed(box.from, 2) + "\" y=\"" + fixed(box.y, 1) + "\" width=\"" + fixed(width, 2) + "\" height=\"" +
           fixed(box.height, 1) + "\"><title>" + title_of(bars, first, end) + "</title></rect>";
    const std::string label = label_within(bars[first].name, width - 8);
    if (box.height >= 12 && end == first + 1 && !label.empty() && bars[first].colour != Colour::waiting) {
      out += text(box.from + 4, box.y + box.height / 2 + 3.7, escaped(label), "class=\"on\"");
    }
  }

  std::string title_of(const std::vector<Bar>& bars, std::size_t first, std::size_t end) const {
    std::string name = escaped(bars[first].name + bars[first].where);
    if (end > first + 1)
      name +=
          " .. " + escaped(bars[end - 1].name + bars[end - 1].where) + " (" + std::to_string(end - first) + " steps)";
    const Duration start = Duration::picoseconds(bars[first].begin - state_.begin),
                   length = Duration::picoseconds(bars[end - 1].end - bars[first].begin);
    return name + ": " + time_text(length) + " from " + time_text(start);
  }

  std::string note() const {
    std::string out =
        "<p class=\"note\">One steady-state iteration; work that begins before it is shown one iteration later, where the next iteration repeats it.";
    if (ranks_.size() < classes_.size()) {
      out += " Ranks form " + counted(classes_.size(), "class", "classes") + " with identical times; " +
             std::to_string(ranks_.size()) + " " + std::string(agreeing(ranks_.size(), "is", "are")) + " shown.";
    }
    return out + "</p>";
  }

  const Report& r_;
  const Played& p_;
  const SteadyState state_;
  const Duration span_;  ///< of the axis
  const RankClasses classes_;
  const std::vector<std::uint32_t> ranks_;
  std::vector<std::pair<std::size_t, Lane>> lanes_;
};

}  // namespace

std::string timeline_picture(const Report& report, const Played& played, std::uint32_t max_ranks, Duration axis) {
  return Picture(report, played, max_ranks, axis).draw();
}

}  // namespace distsim::report::html
