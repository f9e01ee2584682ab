#include "sim/report/timeline/timeline_slices.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text/counted.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/report/groups.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {
namespace {

using SliceSink = std::function<void(const traces::Slice&)>;
using Args = std::vector<std::pair<std::string_view, std::string>>;

std::string range_text(const graph::Cost& c) {
  const auto text = [](Duration d) { return format_quantity(d.seconds(), Dimension::seconds); };
  return text(c.mean) + " (" + text(c.low) + " .. " + text(c.high) + ")";
}

class Slicer {
 public:
  Slicer(const Played& played, const TimelineOptions& options)
      : p_(played), graph_(played.costed->graph), options_(options), args_of_op_(graph_.ops.size()) {
    name_tasks();
    sort_steps(options.last_iteration_only);
    if (slices_of_a_rank_ > options.max_slices) sort_steps(true);
    const std::int64_t fit =
        std::max<std::int64_t>(1, options.max_slices / std::max<std::int64_t>(1, slices_of_a_rank_));
    choose(static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(std::min<std::int64_t>(options.max_ranks, fit), 1, played.program->ranks)));
  }

  const std::vector<std::uint32_t>& shown() const { return shown_; }
  std::int64_t slices() const { return slices_of_a_rank_ * static_cast<std::int64_t>(shown_.size()); }
  bool has_memory() const { return !options_.memory_per_rank.empty(); }

  std::vector<traces::CounterTrack> counters() const {
    std::vector<traces::CounterTrack> out;
    for (const std::uint32_t r : shown_) {
      out.push_back({r, "link use", "GB/s"});
      if (has_memory()) out.push_back({r, "memory", "GB"});
    }
    return out;
  }

  void emit_samples(const std::function<void(const traces::CounterSample&)>& sink) const {
    std::uint32_t counter = 0;
    for (const std::uint32_t r : shown_) {
      emit_counters(p_, options_, last_only_, r, counter, sink);
      counter += has_memory() ? 2 : 1;
    }
  }

  std::vector<traces::Track> tracks() const {
    std::vector<traces::Track> out;
    for (const std::uint32_t r : shown_) {
      const std::uint32_t per_node = std::max(1u, options_.gpus_per_node);
      const std::string name = "rank " + std::to_string(r) + " (node " + std::to_string(r / per_node) + ", gpu " +
                               std::to_string(r % per_node) + ")";
      for (std::uint32_t s = 0; s < graph::kStreamCount; ++s) {
        if (!steps_[s].empty()) out.push_back({r, s, name, std::string(graph::name_of(static_cast<graph::Stream>(s)))});
      }
    }
    return out;
  }

  void emit(const SliceSink& sink) {
    std::uint32_t track = 0;
    for (const std::uint32_t r : shown_) {
      for (const auto& steps : steps_) {
        if (steps.empty()) continue;
        for (const StepId s : steps) step(s, r, track, sink);
        ++track;
      }
    }
  }

 private:
  void name_tasks() {
    for (const graph::Task& task : graph_.tasks) {
      launch_names_.push_back("launch " + graph_.names[task.name]);
      wait_names_.push_back("wait " + graph_.names[task.name]);
    }
  }

  /// One of each class, the largest first, and those from 0 up; in order of rank.
  void choose(std::uint32_t count) {
    const std::uint32_t ranks = p_.program->ranks;
    is_shown_.assign(ranks, count == ranks);
    shown_.clear();
    const auto show = [&](std::uint32_t r) {
      if (shown_.size() == count || is_shown_[r]) return;
      is_shown_[r] = true;
      shown_.push_back(r);
    };
    if (count < ranks || options_.classes_only) {
      is_shown_.assign(ranks, false);
      const RankClasses classes = rank_classes(steady_state(p_), ranks);
      std::vector<std::uint32_t> order(classes.size());
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::stable_sort(order,
                               [&](std::uint32_t a, std::uint32_t b) { return classes.count[a] > classes.count[b]; });
      std::vector<bool> has_one(classes.size(), false);
      for (const std::uint32_t r : options_.ranks_first) {
        if (r >= ranks || (options_.classes_only && has_one[classes.of(r)])) continue;
        has_one[classes.of(r)] = true;
        show(r);
      }
      for (const std::uint32_t c : order)
        if (!has_one[c]) show(classes.first[c]);
      for (std::uint32_t r = 0; r < count && !options_.classes_only; ++r) show(r);
      std::ranges::sort(shown_);
    } else {
      shown_.resize(ranks);
      std::iota(shown_.begin(), shown_.end(), 0u);
    }
    first_ones_ = shown_.back() + 1 == shown_.size();
  }

  void sort_steps(bool last_only) {
    last_only_ = last_only;
    slices_of_a_rank_ = 0;
    for (auto& steps : steps_) steps.clear();
    for (std::uint32_t s = 0; s < p_.program->steps.size(); ++s) {
      const engine::Step& step = p_.program->steps[StepId(s)];
      if (last_only && (*p_.origins)[StepId(s)].iteration + 1 != p_.iterations) continue;
      steps_[step.stream.value()].push_back(StepId(s));
      slices_of_a_rank_ += step.group == engine::Step::kNoGroup ? 1 : 2;
    }
  }

  void step(StepId s, std::uint32_t rank, std::uint32_t track, const SliceSink& sink) {
    const StepOrigin& o = (*p_.origins)[s];
    const std::int64_t start = p_.timeline->start[s].at(rank), end = p_.timeline->end[s].at(rank);
    traces::Slice slice;
    slice.track = track;
    slice.start_ps = start;
    slice.duration_ps = end - start;
    const bool joins = p_.program->steps[s].group != engine::Step::kNoGroup;
    if (joins) waiting(s, o, rank, slice, sink);
    if (end == start && !joins) return;
    slice.name = name_of_step(o);
    slice.category = o.role == StepRole::device ? graph::name_of(graph_.tasks[o.task].phase) : std::string_view("host");
    if ((o.role == StepRole::device || o.role == StepRole::host_work) && wants_args(slice))
      slice.args = arguments(o, rank);
    if (joins) flow(s, rank, slice);
    sink(slice);
  }

  /// Names and phases of tasks are kept once, so that their places tell them apart.
  bool wants_args(const traces::Slice& slice) {
    return !options_.args_once || described_.insert({slice.name.data(), slice.category.data()}).second;
  }

  std::string_view name_of_step(const StepOrigin& o) const {
    if (o.role == StepRole::step_overhead) return "framework step";
    if (o.role == StepRole::host_dispatch) return launch_names_[o.task.value()];
    return graph_.names[graph_.tasks[o.task].name];
  }

  void waiting(StepId s, const StepOrigin& o, std::uint32_t rank, traces::Slice slice, const SliceSink& sink) const {
    const std::int64_t ready = p_.timeline->ready[s].at(rank);
    if (ready == slice.start_ps) return;
    slice.duration_ps = slice.start_ps - ready;
    slice.start_ps = ready;
    slice.name = wait_names_[o.task.value()];
    slice.category = "waiting";
    sink(slice);
  }

  /// Ranks are written in order, so the lowest member that is shown comes first.
  void flow(StepId s, std::uint32_t rank, traces::Slice& slice) const {
    const MemberRange members = members_shown(p_.program->groups[p_.program->steps[s].group], rank);
    if (members.first == members.last) return;
    slice.flow = std::uint64_t{s.value()} * p_.program->ranks + members.first + 1;
    slice.flow_place = rank == members.first  ? traces::FlowPlace::first
                       : rank == members.last ? traces::FlowPlace::last
                                              : traces::FlowPlace::middle;
  }

  MemberRange members_shown(const engine::Groups& group, std::uint32_t rank) const {
    if (first_ones_) return members_below(group, rank, static_cast<std::uint32_t>(shown_.size()));
    MemberRange out{rank, rank};
    for_each_member(group, rank, [&](std::uint32_t member) {
      if (!is_shown_[member]) return;
      out.first = std::min(out.first, member);
      out.last = std::max(out.last, member);
    });
    return out;
  }

  const Args& arguments(const StepOrigin& o, std::uint32_t rank) {
    const graph::Task& task = graph_.tasks[o.task];
    const OpId id(task.first_op.value() + graph_.variant_of(o.task, rank));
    std::optional<Args>& cached = args_of_op_[id.value()];
    if (cached) return *cached;
    const graph::Cost& cost = p_.costed->costs[id];
    cached = Args{{"op", graph::describe(graph_.ops[id])},
                  {"cost", range_text(cost)},
                  {"basis", std::string(graph::name_of(cost.basis))},
                  {"source", std::string(cost.source)}};
    if (const auto* c = std::get_if<graph::Collective>(&graph_.ops[id]))
      cached->emplace_back("bytes", std::to_string(c->bytes * c->times));
    return *cached;
  }

  const Played p_;
  const graph::TaskGraph& graph_;
  const TimelineOptions options_;
  std::vector<std::optional<Args>> args_of_op_;
  std::set<std::pair<const char*, const char*>> described_;  ///< names and phases that had their arguments
  std::vector<std::uint32_t> shown_;                         ///< rising
  std::vector<bool> is_shown_;
  bool first_ones_ = true;  ///< shown are those from 0 up, without a gap
  bool last_only_ = false;
  std::int64_t slices_of_a_rank_ = 0;  ///< at most
  std::vector<std::string> launch_names_, wait_names_;
  std::array<std::vector<StepId>, graph::kStreamCount> steps_;
};

std::string left_out_text(const std::vector<std::uint32_t>& chosen, std::uint32_t ranks) {
  const auto shown = static_cast<std::uint32_t>(chosen.size());
  if (shown >= ranks) return "";
  if (chosen.back() + 1 > shown)
    return std::to_string(ranks - shown) + " of " + counted(ranks, "rank") + " " +
           std::string(agreeing(ranks - shown, "is", "are")) +
           " left out; one rank per class of identical ranks is shown first";
  if (shown + 1 == ranks) return "rank " + std::to_string(shown) + " is left out";
  return "ranks " + std::to_string(shown) + " to " + std::to_string(ranks - 1) + " are left out";
}

}  // namespace

TimelineSlices timeline_slices(const Played& played, const TimelineOptions& options) {
  const auto slicer = std::make_shared<Slicer>(played, options);
  TimelineSlices out;
  out.source.tracks = slicer->tracks();
  out.left_out = left_out_text(slicer->shown(), played.program->ranks);
  if (!out.left_out.empty()) out.source.tracks.push_back({slicer->shown().back() + 1, 0, out.left_out, "-"});
  out.slices = slicer->slices();
  out.source.counters = slicer->counters();
  out.source.for_each = [slicer](const SliceSink& sink) { slicer->emit(sink); };
  out.source.for_each_sample = [slicer](const auto& sink) { slicer->emit_samples(sink); };
  return out;
}

}  // namespace distsim::report
