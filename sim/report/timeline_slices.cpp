#include "sim/report/timeline_slices.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/quantity_text.hpp"
#include "sim/report/groups.hpp"

namespace distsim {
namespace {

using Sink = std::function<void(const Slice&)>;
using Args = std::vector<std::pair<std::string_view, std::string>>;

std::string range_text(const Cost& c) {
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
    const std::int64_t fit = std::max<std::int64_t>(1, options.max_slices / std::max<std::int64_t>(1, slices_of_a_rank_));
    shown_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::min<std::int64_t>(options.max_ranks, fit), 1, played.program->ranks));
  }

  std::uint32_t shown() const { return shown_; }
  std::int64_t slices() const { return slices_of_a_rank_ * shown_; }
  bool has_memory() const { return !options_.memory_per_rank.empty(); }

  std::vector<CounterTrack> counters() const {
    std::vector<CounterTrack> out;
    for (std::uint32_t r = 0; r < shown_; ++r) {
      out.push_back({r, "link use", "GB/s"});
      if (has_memory()) out.push_back({r, "memory", "GB"});
    }
    return out;
  }

  void emit_samples(const std::function<void(const CounterSample&)>& sink) const {
    for (std::uint32_t r = 0; r < shown_; ++r) emit_counters(p_, options_, last_only_, r, r * (has_memory() ? 2 : 1), sink);
  }

  std::vector<Track> tracks() const {
    std::vector<Track> out;
    for (std::uint32_t r = 0; r < shown_; ++r) {
      const std::uint32_t per_node = std::max(1u, options_.gpus_per_node);
      const std::string name = "rank " + std::to_string(r) + " (node " + std::to_string(r / per_node) + ", gpu " + std::to_string(r % per_node) + ")";
      for (std::uint32_t s = 0; s < kStreamCount; ++s) {
        if (!steps_[s].empty()) out.push_back({r, s, name, std::string(name_of(static_cast<Stream>(s)))});
      }
    }
    return out;
  }

  void emit(const Sink& sink) {
    std::uint32_t track = 0;
    for (std::uint32_t r = 0; r < shown_; ++r) {
      for (const auto& steps : steps_) {
        if (steps.empty()) continue;
        for (const StepId s : steps) step(s, r, track, sink);
        ++track;
      }
    }
  }

 private:
  void name_tasks() {
    for (const Task& task : graph_.tasks) {
      launch_names_.push_back("launch " + graph_.names[task.name]);
      wait_names_.push_back("wait " + graph_.names[task.name]);
    }
  }

  void sort_steps(bool last_only) {
    last_only_ = last_only;
    slices_of_a_rank_ = 0;
    for (auto& steps : steps_) steps.clear();
    for (std::uint32_t s = 0; s < p_.program->steps.size(); ++s) {
      const Step& step = p_.program->steps[StepId(s)];
      if (last_only && (*p_.origins)[StepId(s)].iteration + 1 != p_.iterations) continue;
      steps_[step.stream.value()].push_back(StepId(s));
      slices_of_a_rank_ += step.group == Step::kNoGroup ? 1 : 2;
    }
  }

  void step(StepId s, std::uint32_t rank, std::uint32_t track, const Sink& sink) {
    const StepOrigin& o = (*p_.origins)[s];
    const std::int64_t start = p_.timeline->start[s].at(rank), end = p_.timeline->end[s].at(rank);
    Slice slice;
    slice.track = track;
    slice.start_ps = start;
    slice.duration_ps = end - start;
    const bool joins = p_.program->steps[s].group != Step::kNoGroup;
    if (joins) waiting(s, o, rank, slice, sink);
    if (end == start && !joins) return;
    slice.name = name_of_step(o);
    slice.category = o.role == StepRole::device ? name_of(graph_.tasks[o.task].phase) : std::string_view("host");
    if (o.role == StepRole::device || o.role == StepRole::host_work) slice.args = arguments(o, rank);
    if (joins) flow(s, rank, slice);
    sink(slice);
  }

  std::string_view name_of_step(const StepOrigin& o) const {
    if (o.role == StepRole::step_overhead) return "framework step";
    if (o.role == StepRole::host_dispatch) return launch_names_[o.task.value()];
    return graph_.names[graph_.tasks[o.task].name];
  }

  void waiting(StepId s, const StepOrigin& o, std::uint32_t rank, Slice slice, const Sink& sink) const {
    const std::int64_t ready = p_.timeline->ready[s].at(rank);
    if (ready == slice.start_ps) return;
    slice.duration_ps = slice.start_ps - ready;
    slice.start_ps = ready;
    slice.name = wait_names_[o.task.value()];
    slice.category = "waiting";
    sink(slice);
  }

  /// Ranks are written in order, so the lowest member that is shown comes first.
  void flow(StepId s, std::uint32_t rank, Slice& slice) const {
    const MemberRange members = members_below(p_.program->groups[p_.program->steps[s].group], rank, shown_);
    if (members.first == members.last) return;
    slice.flow = std::uint64_t{s.value()} * p_.program->ranks + members.first + 1;
    slice.flow_place = rank == members.first ? FlowPlace::first : rank == members.last ? FlowPlace::last : FlowPlace::middle;
  }

  const Args& arguments(const StepOrigin& o, std::uint32_t rank) {
    const Task& task = graph_.tasks[o.task];
    const OpId id(task.first_op.value() + graph_.variant_of(o.task, rank));
    std::optional<Args>& cached = args_of_op_[id.value()];
    if (cached) return *cached;
    const Cost& cost = p_.costed->costs[id];
    cached = Args{{"op", describe(graph_.ops[id])}, {"cost", range_text(cost)}, {"basis", std::string(name_of(cost.basis))},
                  {"source", std::string(cost.source)}};
    if (const auto* c = std::get_if<Collective>(&graph_.ops[id])) cached->emplace_back("bytes", std::to_string(c->bytes));
    return *cached;
  }

  const Played p_;
  const TaskGraph& graph_;
  const TimelineOptions options_;
  std::vector<std::optional<Args>> args_of_op_;
  std::uint32_t shown_ = 1;
  bool last_only_ = false;
  std::int64_t slices_of_a_rank_ = 0;  ///< at most
  std::vector<std::string> launch_names_, wait_names_;
  std::array<std::vector<StepId>, kStreamCount> steps_;
};

std::string left_out_text(std::uint32_t shown, std::uint32_t ranks) {
  if (shown >= ranks) return "";
  if (shown + 1 == ranks) return "rank " + std::to_string(shown) + " is left out";
  return "ranks " + std::to_string(shown) + " to " + std::to_string(ranks - 1) + " are left out";
}

}  // namespace

TimelineSlices timeline_slices(const Played& played, const TimelineOptions& options) {
  const auto slicer = std::make_shared<Slicer>(played, options);
  TimelineSlices out;
  out.source.tracks = slicer->tracks();
  out.left_out = left_out_text(slicer->shown(), played.program->ranks);
  if (!out.left_out.empty()) out.source.tracks.push_back({slicer->shown(), 0, out.left_out, "-"});
  out.slices = slicer->slices();
  out.source.counters = slicer->counters();
  out.source.for_each = [slicer](const Sink& sink) { slicer->emit(sink); };
  out.source.for_each_sample = [slicer](const auto& sink) { slicer->emit_samples(sink); };
  return out;
}

}  // namespace distsim
