#include "sim/profile/step_split.hpp"

#include <algorithm>

#include "base/intervals.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::profile {
namespace {

bool launches(traces::RuntimeCall call) {
  return call == traces::RuntimeCall::launch_kernel || call == traces::RuntimeCall::launch_graph ||
         call == traces::RuntimeCall::memcpy || call == traces::RuntimeCall::memset;
}

/// Everything that a window is cut out of.
struct Work {
  std::int64_t dry_before = INT64_MIN;   ///< when the work of slices before had ended
  std::int64_t known_until = INT64_MAX;  ///< from there on, work may be missing that begins earlier than what is there
  IntervalSet busy, compute, comm, exposed;
  std::vector<const traces::DeviceRecord*> by_start;
  std::vector<std::int64_t> launch_starts;

  explicit Work(const traces::TraceRank& rank) {
    std::vector<Interval> all, kernels, communication;
    for (const traces::DeviceRecord& d : rank.device_records) {
      const Interval i{d.start_ns, d.end_ns()};
      all.push_back(i);
      if (d.kind == traces::DeviceRecordKind::kernel) (d.communication ? communication : kernels).push_back(i);
      by_start.push_back(&d);
    }
    busy = IntervalSet::union_of(std::move(all));
    compute = IntervalSet::union_of(std::move(kernels));
    comm = IntervalSet::union_of(std::move(communication));
    exposed = comm.minus(compute);
    std::ranges::stable_sort(by_start, {}, &traces::DeviceRecord::start_ns);
    for (const traces::HostRecord& h : rank.host_records) {
      if (launches(h.call)) launch_starts.push_back(h.start_ns);
    }
    std::ranges::sort(launch_starts);
  }
};

std::uint32_t launches_within(const Work& work, std::int64_t begin, std::int64_t end) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(work.launch_starts, end) -
                                    std::ranges::lower_bound(work.launch_starts, begin));
}

TimeSplit split_of(const Work& work, std::int64_t begin, std::int64_t end) {
  TimeSplit s;
  s.wall = end - begin;
  s.busy = work.busy.covered(begin, end);
  s.compute = work.compute.covered(begin, end);
  s.comm = work.comm.covered(begin, end);
  s.exposed = work.exposed.covered(begin, end);
  s.idle = s.wall - s.busy;
  return s;
}

/// Whether the work that begins at `to` was launched only after the GPU had run dry at `dry`.
bool waits_for_host(const traces::TraceRank& rank, const Work& work, std::int64_t dry, std::int64_t to) {
  const auto next = std::ranges::lower_bound(work.by_start, to, {}, &traces::DeviceRecord::start_ns);
  if (next == work.by_start.end() || (*next)->launch == traces::kNone) return false;
  return rank.host_records[(*next)->launch].start_ns >= dry;
}

/// Gaps lie between work of the window; time that waits for the host also before and behind it.
GapSummary gaps_of(const traces::TraceRank& rank, const Work& work, std::int64_t begin, std::int64_t end) {
  GapSummary g;
  const std::vector<Interval>& parts = work.busy.parts();
  auto next = std::ranges::upper_bound(parts, begin, {}, &Interval::end);
  std::int64_t dry = std::max(work.dry_before, next == parts.begin() ? INT64_MIN : std::prev(next)->end);
  for (; next != parts.end() && next->begin < work.known_until && dry < end; dry = next->end, ++next) {
    const std::int64_t from = std::max(dry, begin), to = std::min(next->begin, end);
    if (to <= from) continue;
    if (dry > begin && next->begin < end) {
      ++g.count;
      g.total += to - from;
      g.longest = std::max(g.longest, to - from);
    }
    if (waits_for_host(rank, work, dry, next->begin)) g.waiting_for_host += to - from;
  }
  return g;
}

/// The first work that begins in the slice after all work before it had ended.
SliceEdge edge_of(const traces::TraceRank& rank, const Work& work, const Slice& slice) {
  SliceEdge edge;
  const std::vector<Interval>& parts = work.busy.parts();
  const auto first = std::ranges::upper_bound(parts, slice.dry, {}, &Interval::end);
  edge.works = first != parts.end() && first->begin < slice.end;
  edge.dry = slice.dry;
  if (!edge.works) return edge;
  edge.first = first->begin;
  edge.waits_for_host = first->begin > slice.dry && waits_for_host(rank, work, slice.dry, first->begin);
  for (const traces::DeviceRecord* d : work.by_start) {
    if (d->start_ns < slice.end) edge.dry = std::max(edge.dry, d->end_ns());
  }
  return edge;
}

StepProfile step_profile(const traces::TraceRank& rank, const Work& work, const traces::TraceStep& step) {
  StepProfile p;
  p.step = step;
  p.split = split_of(work, step.start_ns, step.end_ns);
  p.gaps = gaps_of(rank, work, step.start_ns, step.end_ns);
  const auto first = std::ranges::lower_bound(work.by_start, step.start_ns, {}, &traces::DeviceRecord::start_ns);
  const auto last = std::ranges::lower_bound(work.by_start, step.end_ns, {}, &traces::DeviceRecord::start_ns);
  p.kernels = static_cast<std::uint32_t>(std::count_if(
      first, last, [](const traces::DeviceRecord* d) { return d->kind == traces::DeviceRecordKind::kernel; }));
  p.launches = launches_within(work, step.start_ns, step.end_ns);
  return p;
}

}  // namespace

void set_measured_times(RankProfile& out) {
  for (std::size_t i = 0; i < out.steps.size(); ++i) {
    StepProfile& p = out.steps[i];
    const bool next = i + 1 < out.steps.size() && p.step.device_records > 0 &&
                      out.steps[i + 1].step.device_records > 0 && traces::is_followed_by(p.step, out.steps[i + 1].step);
    if (next) p.gpu_start_to_start = out.steps[i + 1].step.first_device_ns - p.step.first_device_ns;
    p.measured = p.gpu_start_to_start > 0 ? p.gpu_start_to_start : out.steps_marked ? p.split.wall : -1;
  }
}

void profile_steps(const traces::TraceRank& rank, RankProfile& out) {
  const Work work(rank);
  const std::vector<traces::TraceStep> whole = traces::whole_window(rank);
  if (!whole.empty()) {
    out.whole = step_profile(rank, work, whole.front());
    out.whole.launches = static_cast<std::uint32_t>(work.launch_starts.size());  // of the first kernel, too
  }
  out.steps_marked = !rank.steps.empty();
  for (const traces::TraceStep& step : out.steps_marked ? rank.steps : whole)
    out.steps.push_back(step_profile(rank, work, step));
  set_measured_times(out);
}

SliceEdge profile_steps_within(const traces::TraceRank& rank, const Slice& slice, RankProfile& out) {
  Work work(rank);
  work.dry_before = slice.dry;
  work.known_until = slice.end;
  const std::int64_t begin = slice.begin, end = slice.end;
  std::vector<traces::TraceStep> whole = traces::whole_window(rank);
  const IntervalSet busy = work.busy.clipped(begin, end);
  if (!whole.empty() && (!busy.empty() || rank.device_records.empty())) {
    traces::TraceStep& w = whole.front();
    w.start_ns = busy.empty() ? std::max(begin, w.start_ns) : busy.first();
    w.end_ns = busy.empty() ? std::max(w.start_ns, std::min(end, w.end_ns)) : busy.last();
    out.whole = step_profile(rank, work, w);
  }
  out.whole.launches = launches_within(work, begin, end);
  for (const traces::TraceStep& step : rank.steps) {
    if (step.start_ns >= begin && step.start_ns < end) out.steps.push_back(step_profile(rank, work, step));
  }
  out.steps_marked = !out.steps.empty();
  return edge_of(rank, work, slice);
}

}  // namespace distsim::profile
