#include "sim/replay/whatif/kernel_edits.hpp"

#include <algorithm>
#include <span>

#include "base/text/names/name_pattern.hpp"
#include "base/text/printable.hpp"
#include "sim/replay/build/device_causes.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::replay {
namespace {

/// By name: whether one of the patterns is found in it.
Result<std::vector<bool>> matching_names(const std::string& flag, const std::vector<std::string>& patterns,
                                         const ReplayGraph& graph) {
  std::vector<bool> out(graph.job->names.size(), false);
  std::vector<bool> is_kernel(out.size(), false);
  for (const traces::TraceRank& rank : graph.job->ranks) {
    for (const traces::DeviceRecord& d : rank.device_records) is_kernel[d.name.value()] = true;
  }
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) return Error{flag + ": found an empty pattern, expected a regular expression", "", ""};
    const auto expression = NamePattern::compile(pattern);
    if (!expression) return Error{flag + ": " + expression.error().text(), "", ""};
    bool any = false;
    for (std::uint32_t n = 0; n < out.size(); ++n) {
      if (is_kernel[n] && expression->found_in(graph.job->names.text(NameId(n)))) out[n] = any = true;
    }
    if (!any)
      return Error{flag + ": found " + in_quotes(pattern) + ", which no kernel's name matches", "",
                   "`distsim profile` lists the kernels"};
  }
  return out;
}

class Editor {
 public:
  Editor(ReplayGraph& graph, ReplayCosts& costs) : graph_(graph), costs_(costs), gone_(graph.nodes.size(), false) {}

  void remove(const std::vector<bool>& names) {
    for_each_lane([&](std::uint32_t rank, const std::vector<std::uint32_t>& lane) {
      for (const std::uint32_t r : lane) {
        if (!names[record(rank, r).name.value()]) continue;
        take_out(rank, r, r == lane.front());
        ++edits_.removed;
      }
    });
  }

  void fuse(const std::vector<bool>& names) {
    find_waits();
    for_each_lane([&](std::uint32_t rank, const std::vector<std::uint32_t>& lane) {
      for (std::size_t i = 0; i < lane.size();) {
        std::size_t end = i;
        while (end < lane.size() && can_fuse(rank, lane[end], names) &&
               (end == i || !is_border(rank, lane[end - 1], lane[end])))
          ++end;
        if (end - i >= 2) fuse_run(rank, std::span(lane).subspan(i, end - i));
        i = std::max(end, i + 1);
      }
    });
  }

  bool nothing_left() const {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      for (const std::uint32_t n : graph_.ranks[rank].device_nodes) {
        if (!gone_[n]) return false;
      }
    }
    return true;
  }

  KernelEdits finish() {
    silence_calls();
    move_step_starts();
    return edits_;
  }

 private:
  const traces::DeviceRecord& record(std::uint32_t rank, std::uint32_t r) const {
    return graph_.job->ranks[rank].device_records[r];
  }
  std::uint32_t node(std::uint32_t rank, std::uint32_t r) const { return graph_.ranks[rank].device_nodes[r]; }

  /// Calls visit(rank, records in order) for each lane of each device stream.
  template <class Visit>
  void for_each_lane(Visit visit) const {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      std::vector<std::vector<std::uint32_t>> lanes(graph_.ranks[rank].streams);
      for (const ReplayNode& n : graph_.nodes) {
        if (n.rank == rank && n.role == ReplayRole::device) lanes[n.stream].push_back(n.record);
      }
      for (const auto& lane : lanes) visit(rank, lane);
    }
  }

  bool can_fuse(std::uint32_t rank, std::uint32_t r, const std::vector<bool>& names) const {
    const bool matches = names[record(rank, r).name.value()] &&
                         record(rank, r).kind == traces::DeviceRecordKind::kernel &&
                         record(rank, r).collective == traces::kNone && !gone_[node(rank, r)];
    // Work outside of all steps stays as it is: with less before the first, it would begin earlier, and seem longer.
    return matches && (graph_.job->ranks[rank].steps.empty() || step_of(rank, r) != traces::kNone);
  }

  /// Which device nodes wait for others than the one before on their lane and their launch, and which are waited for by
  /// others than the one after: of other streams, or a call of the host.
  void find_waits() {
    waits_.assign(graph_.nodes.size(), false);
    is_awaited_.assign(graph_.nodes.size(), false);
    const auto on_device = [&](std::uint32_t n) { return graph_.nodes[n].role == ReplayRole::device; };
    for (const auto& [node, on] : graph_.waits) {
      if (!on_device(on) || waits_for_room(node)) continue;
      is_awaited_[on] = true;
      const ReplayNode& waiter = graph_.nodes[node];
      waits_[waiter.role == ReplayRole::delay ? this->node(waiter.rank, waiter.record) : node] = true;
    }
  }

  /// A call that waits for a place in the queue of launches has it too when the kernel is part of another.
  bool waits_for_room(std::uint32_t n) const {
    return graph_.nodes[n].role == ReplayRole::delay && graph_.nodes[n].record == traces::kNone;
  }

  /// A kernel on either side of this cannot be one: it would belong to two steps, or begin after the work that waits for
  /// its first part, or before the work that its second part waits for.
  bool is_border(std::uint32_t rank, std::uint32_t before, std::uint32_t after) const {
    return is_awaited_[node(rank, before)] || waits_[node(rank, after)] ||
           step_of(rank, before) != step_of(rank, after);
  }

  /// The step that launched it. Where steps are known by what they launched, work without a launch is of none: it ran
  /// before them, or behind. kNone: no step.
  std::uint32_t step_of(std::uint32_t rank, std::uint32_t r) const {
    const traces::TraceRank& trace = graph_.job->ranks[rank];
    const std::uint32_t launch = record(rank, r).launch;
    if (launch != traces::kNone) return traces::step_at(trace.steps, trace.host_records[launch].start_ns);
    const bool any_launched = std::ranges::any_of(graph_.ranks[rank].steps,
                                                  [](const ReplayStep& s) { return s.first_device != traces::kNone; });
    return any_launched ? traces::kNone : traces::step_at(trace.steps, record(rank, r).start_ns);
  }

  void fuse_run(std::uint32_t rank, std::span<const std::uint32_t> run) {
    std::int64_t longest = 0;
    for (const std::uint32_t r : run) longest = std::max(longest, costs_[node(rank, r)]);
    for (const std::uint32_t r : run.subspan(1)) take_out(rank, r, false);
    costs_[node(rank, run.front())] = longest;
    edits_.fused += run.size();
  }

  /// It still waits for all that it waited for: a launch late for work that no one recorded, or an event, held up its stream
  /// and not just this kernel. So do the time before the first of a lane and a gap longer than a device's own.
  void take_out(std::uint32_t rank, std::uint32_t r, bool first_of_lane) {
    const std::uint32_t n = node(rank, r), gap = graph_.ranks[rank].gap_nodes[r];
    costs_[n] = 0;
    if (!first_of_lane && graph_.nodes[gap].cost_ns <= kNearNs) costs_[gap] = 0;
    gone_[n] = true;
    graph_.nodes[n].match = traces::kNone;
  }

  /// Calls all of whose kernels were removed take no time.
  void silence_calls() {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      const traces::TraceRank& trace = graph_.job->ranks[rank];
      std::vector<std::uint8_t> state(trace.host_records.size(),
                                      0);  // 1: launched something removed, 2: something kept
      for (std::uint32_t r = 0; r < trace.device_records.size(); ++r) {
        if (trace.device_records[r].launch != traces::kNone)
          state[trace.device_records[r].launch] |= gone_[node(rank, r)] ? 1 : 2;
      }
      for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
        const ReplayNode& call = graph_.nodes[n];
        if (call.rank == rank && call.role == ReplayRole::host_call && state[call.record] == 1) costs_[n] = 0;
      }
    }
  }

  /// A step that began with a removed kernel begins with the first of its kernels that is left; with none left it
  /// has only its marks.
  void move_step_starts() {
    for (std::uint32_t rank = 0; rank < graph_.ranks.size(); ++rank) {
      const traces::TraceRank& trace = graph_.job->ranks[rank];
      for (std::uint32_t s = 0; s < trace.steps.size(); ++s) {
        std::uint32_t& first = graph_.ranks[rank].steps[s].first_device;
        if (first != traces::kNone && gone_[first])
          first = first_left(rank, trace.steps[s].start_ns, trace.steps[s].end_ns);
      }
    }
  }

  std::uint32_t first_left(std::uint32_t rank, std::int64_t begin, std::int64_t end) const {
    const traces::TraceRank& trace = graph_.job->ranks[rank];
    std::uint32_t first = traces::kNone;
    for (std::uint32_t r = 0; r < trace.device_records.size(); ++r) {
      const traces::DeviceRecord& d = trace.device_records[r];
      if (d.launch == traces::kNone || gone_[node(rank, r)]) continue;
      const std::int64_t launched = trace.host_records[d.launch].start_ns;
      if (launched < begin || launched >= end) continue;
      if (first == traces::kNone || d.start_ns < graph_.nodes[first].measured_ns) first = node(rank, r);
    }
    return first;
  }

  ReplayGraph& graph_;
  ReplayCosts& costs_;
  std::vector<bool> gone_, waits_, is_awaited_;  ///< by node
  KernelEdits edits_;
};

}  // namespace

Result<KernelEdits> edit_kernels(const std::vector<std::string>& remove, const std::vector<std::string>& fuse,
                                 ReplayGraph& graph, ReplayCosts& costs) {
  TRY_ASSIGN(const std::vector<bool> removed, matching_names("--remove", remove, graph));
  TRY_ASSIGN(const std::vector<bool> fused, matching_names("--fuse", fuse, graph));
  Editor editor(graph, costs);
  editor.remove(removed);
  if (editor.nothing_left()) {
    return Error{"--remove: found " + in_quotes(remove.back()) +
                     ", which leaves no kernel and no copy, expected a pattern that leaves some",
                 "", "without any, a step's time would be only that of its host"};
  }
  editor.fuse(fused);
  return editor.finish();
}

}  // namespace distsim::replay
