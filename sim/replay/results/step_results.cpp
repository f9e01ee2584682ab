#include "sim/replay/results/step_results.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/intervals.hpp"
#include "sim/replay/build/device_causes.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::replay {
namespace {

struct DeviceUse {
  IntervalSet busy, compute, kernels, comm;
};

/// What a rank's device does, from the first moment a kernel was on it.
DeviceUse device_use(const ReplayGraph& graph, const ReplayTimes& times, std::uint32_t rank) {
  std::vector<Interval> busy, compute, comm, kernels;
  const auto& records = graph.job->ranks[rank].device_records;
  for (std::uint32_t r = 0; r < records.size(); ++r) {
    const std::uint32_t node = graph.ranks[rank].device_nodes[r];
    const Interval i{times.ready[node], times.end[node]};
    busy.push_back(i);
    if (records[r].kind != traces::DeviceRecordKind::kernel) continue;
    kernels.push_back(i);
    (records[r].communication ? comm : compute).push_back(i);
  }
  return {IntervalSet::union_of(std::move(busy)), IntervalSet::union_of(std::move(compute)),
          IntervalSet::union_of(std::move(kernels)), IntervalSet::union_of(std::move(comm))};
}

StepParts parts_of(const DeviceUse& use, std::int64_t begin, std::int64_t end) {
  StepParts p;
  p.window = std::max<std::int64_t>(0, end - begin);
  p.compute = use.compute.covered(begin, end);
  p.comm = use.comm.covered(begin, end);
  p.exposed = use.kernels.covered(begin, end) - p.compute;
  p.idle = p.window - use.busy.covered(begin, end);
  return p;
}

/// From the first device record to the end of the last, as recorded; ns.
std::int64_t recorded_span(const traces::TraceRank& rank) {
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (const traces::DeviceRecord& d : rank.device_records) {
    first = std::min(first, d.start_ns);
    last = std::max(last, d.end_ns());
  }
  return rank.device_records.empty() ? 0 : last - first;
}

class Results {
 public:
  Results(const ReplayGraph& graph, const ReplayTimes& times) : graph_(graph), times_(times) {}

  std::vector<StepResult> run() && {
    for (std::uint32_t r = 0; r < graph_.ranks.size(); ++r) {
      const DeviceUse use = device_use(graph_, times_, r);
      if (!has_marks(graph_.ranks[r])) {
        window(r, use);
        continue;
      }
      for (std::uint32_t s = 0; s < graph_.ranks[r].steps.size(); ++s) step(r, s, use);
    }
    return std::move(out_);
  }

 private:
  const traces::TraceRank& trace(std::uint32_t r) const { return graph_.job->ranks[r]; }

  /// Steps need a host thread to be marked on; results of HugeCTR's profiler have none.
  static bool has_marks(const ReplayRank& rank) {
    return std::any_of(rank.steps.begin(), rank.steps.end(), [](const ReplayStep& s) {
      return s.begin_mark != traces::kNone || s.first_device != traces::kNone;
    });
  }

  StepResult result(std::uint32_t r, std::uint32_t s, std::string name, std::int64_t number) const {
    StepResult out;
    out.rank = trace(r).rank;
    out.step_index = s;
    out.name = std::move(name);
    out.number = number;
    return out;
  }

  void step(std::uint32_t r, std::uint32_t s, const DeviceUse& use) {
    const ReplayStep& step = graph_.ranks[r].steps[s];
    StepResult out = result(r, s, trace(r).steps[s].name, trace(r).steps[s].number);
    const ReplayStep* next = s + 1 < graph_.ranks[r].steps.size() ? &graph_.ranks[r].steps[s + 1] : nullptr;
    const traces::TraceStep& marked = trace(r).steps[s];
    const bool follows = next != nullptr && traces::is_followed_by(marked, trace(r).steps[s + 1]);
    const bool works = step.first_device != traces::kNone;
    if (follows && works && next->first_device != traces::kNone) {
      out.basis = StepBasis::device_start_to_start;
      out.measured =
          (graph_.nodes[next->first_device].measured_ns - graph_.nodes[step.first_device].measured_ns) * kPsPerNs;
      out.replayed = times_.ready[next->first_device] - times_.ready[step.first_device];
    } else if (step.begin_mark != traces::kNone && step.end_mark != traces::kNone) {
      out.basis = StepBasis::profiler_step;
      out.measured = (marked.end_ns - marked.start_ns) * kPsPerNs;
      out.replayed = std::max(times_.end[step.end_mark] - times_.end[step.begin_mark], device_length(r, s));
    }
    if (works || step.begin_mark != traces::kNone) {
      const std::int64_t begin = works ? times_.ready[step.first_device] : times_.end[step.begin_mark];
      out.parts = parts_of(use, begin, begin + out.replayed);
    }
    out_.push_back(std::move(out));
  }

  /// How long the device takes from one step to the next, where the trace has no next one: from the first work launched
  /// in the step to the end of the last, and on to where another such step would begin. If in the trace that was right
  /// behind the last work, or before its end, it stays as far from it; else that work is not what it would wait for.
  std::int64_t device_length(std::uint32_t r, std::uint32_t s) const {
    const traces::TraceStep& marked = trace(r).steps[s];
    const std::uint32_t first = graph_.ranks[r].steps[s].first_device;
    if (first == traces::kNone) return 0;
    std::int64_t last = times_.ready[first], first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (std::uint32_t d = 0; d < trace(r).device_records.size(); ++d) {
      const traces::DeviceRecord& record = trace(r).device_records[d];
      if (record.launch == traces::kNone) continue;
      if (traces::step_at(trace(r).steps, trace(r).host_records[record.launch].start_ns) != s) continue;
      last = std::max(last, times_.end[graph_.ranks[r].device_nodes[d]]);
      first_ns = std::min(first_ns, record.start_ns);
      last_ns = std::max(last_ns, record.end_ns());
    }
    const std::int64_t to_next = (marked.end_ns - marked.start_ns) - (last_ns - first_ns);
    return last - times_.ready[first] + (to_next <= kNearNs ? to_next * kPsPerNs : 0);
  }

  void window(std::uint32_t r, const DeviceUse& use) {
    StepResult out = result(r, 0, "whole trace", 0);
    if (!use.busy.empty()) {
      out.replayed = use.busy.last() - use.busy.first();
      const std::int64_t span = recorded_span(trace(r)) * kPsPerNs;
      out.measured = span > 0 ? span : -1;
    }
    std::vector<std::int64_t> stated = trace(r).measured_iterations_ns;
    if (!stated.empty()) {
      std::ranges::sort(stated);
      out.measured = (stated[(stated.size() - 1) / 2] + stated[stated.size() / 2]) * kPsPerNs / 2;
      out.basis = StepBasis::stated;
      out.replayed = use.busy.empty() ? 0 : use.busy.last();  // from the beginning of the iteration
    }
    if (!use.busy.empty()) out.parts = parts_of(use, use.busy.last() - out.replayed, use.busy.last());
    out_.push_back(std::move(out));
  }

  const ReplayGraph& graph_;
  const ReplayTimes& times_;
  std::vector<StepResult> out_;
};

template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

std::string_view name_of(StepBasis basis) {
  switch (basis) {
    case StepBasis::device_start_to_start:
      return "GPU start to start";
    case StepBasis::profiler_step:
      return "profiler step";
    case StepBasis::window:
      return "whole trace";
    case StepBasis::stated:
      return "iteration time stated by the trace";
  }
  return "";
}

std::vector<StepResult> step_results(const ReplayGraph& graph, const ReplayTimes& times) {
  return Results(graph, times).run();
}

std::int64_t device_span(const ReplayGraph& graph, const ReplayTimes& times) {
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].role != ReplayRole::device || times.end[n] == times.ready[n]) continue;  // removed
    first = std::min(first, times.ready[n]);
    last = std::max(last, times.end[n]);
  }
  return last > first ? last - first : 0;
}

StepMedians medians(const std::vector<StepResult>& all) {
  std::vector<StepResult> results;  // both medians are of the same steps
  std::ranges::copy_if(all, std::back_inserter(results), [](const StepResult& r) { return r.measured > 0; });
  if (results.empty()) results = all;
  auto best = StepBasis::window;  // in order of the enum: start to start before profiler steps before windows
  for (const StepResult& r : results) best = std::min(best, r.basis);
  if (std::any_of(results.begin(), results.end(), [](const StepResult& r) { return r.basis == StepBasis::stated; }))
    best = StepBasis::stated;
  std::vector<std::int64_t> measured, replayed;
  std::vector<double> errors;
  std::set<std::uint32_t> ranks;
  for (const StepResult& r : results) {
    if (r.basis != best) continue;
    ranks.insert(r.rank);
    replayed.push_back(r.replayed);
    if (r.measured <= 0) continue;
    measured.push_back(r.measured);
    errors.push_back(std::abs(r.error()));
  }
  StepMedians out;
  out.basis = best;
  out.steps = replayed.size();
  out.ranks = ranks.size();
  out.replayed = median(replayed);
  if (measured.empty()) return out;
  out.measured = median(measured);
  out.median_error = median(errors);
  out.worst_error = *std::max_element(errors.begin(), errors.end());
  return out;
}

}  // namespace distsim::replay
