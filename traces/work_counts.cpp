#include "traces/work_counts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/fnv.hpp"
#include "base/text/printable.hpp"
#include "traces/build/collective_text.hpp"
#include "traces/sizes/collective_size.hpp"
#include "traces/trace.hpp"
#include "traces/trace_steps.hpp"

namespace distsim::traces {
namespace {

constexpr std::int64_t kRounding = 2'000;  // ns: profilers round the two ends of an interval by themselves
constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20;  // the clock of a profiler is too coarse for shorter ones

/// Work of a GPU that begins this long before the call that launched it: clocks of host and GPU are not that far apart.
constexpr std::int64_t kBeforeItsLaunch = 1'000'000;  // ns

/// A call that waits for work returns some us after its end; one that returns this long before it did not wait. Chosen.
constexpr std::int64_t kBeforeItsWork = 50'000;  // ns

/// Bytes a second that no link and no memory reaches, twice the fastest of 2026: 450 GB/s from host to GPU (NVLink-C2C), 900
/// GB/s between GPUs (NVLink 5), 8 TB/s in one (HBM3e, read and written: half of that; more from its cache).
double fastest_copy(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::host_to_device:
    case CopyDirection::device_to_host:
      return 0.9e12;
    case CopyDirection::peer_to_peer:
      return 1.8e12;
    default:
      return 20e12;
  }
}

/// A bus bandwidth that no link reaches: twice the fastest of 2026, 900 GB/s each way (NVLink 5) where switches add up, which
/// halves what an all-reduce sends.
constexpr double kFastestBus = 3.6e12;

/// Kernels that a call of another kind may launch: uneven parts are sent by broadcasts and reductions, a barrier reduces,
/// and what has no kernel of its own is sent and received.
bool may_launch(graph::CollectiveKind call, graph::CollectiveKind kernel) {
  using Kind = graph::CollectiveKind;
  return call == kernel || kernel == Kind::send_recv || (call == Kind::barrier && kernel == Kind::all_reduce) ||
         (call == Kind::all_gather && kernel == Kind::broadcast) ||
         (call == Kind::reduce_scatter && kernel == Kind::reduce);
}

class Counter {
 public:
  Counter(const TraceJob& job, const TraceRank& rank, const CountedWindow& window)
      : job_(job), rank_(rank), window_(window) {}

  WorkCounts count(const std::vector<TraceStep>& steps) {
    count_calls();
    out_.graphs = count_graphs(rank_, window_);
    count_steps(steps);
    count_order();
    count_names();
    count_unlaunched();
    count_host_waits();
    count_holes();
    count_overlaps();
    for (const TraceCollective& c : rank_.collectives) count_collective(c);
    for (const MemoryRecord& m : rank_.memory) count_memory(m);
    return std::move(out_);
  }

 private:
  std::int64_t launched_at(const DeviceRecord& d) const { return rank_.host_records[d.launch].start_ns; }

  /// Copies within the host and of nothing have no GPU record.
  void count_calls() {
    std::vector<bool> has_work(rank_.host_records.size(), false);
    for (const DeviceRecord& d : rank_.device_records) {
      if (d.launch == kNone) continue;
      has_work[d.launch] = true;
      const std::int64_t at = launched_at(d);
      if (!window_.has(at)) continue;
      out_.joined = true;
      if (d.kind != DeviceRecordKind::kernel) continue;
      out_.first_joined = std::min(out_.first_joined, at);
      const TraceStream& stream = rank_.streams[d.stream];
      StreamEnd& end = out_.stream_ends[{stream.device, stream.id}];
      if (d.end_ns() >= end.end) end = {d.end_ns(), at};
    }
    const std::vector<std::pair<std::int64_t, std::int64_t>> captures = captures_of_graphs();
    for (std::size_t i = 0; i < rank_.host_records.size(); ++i) {
      const HostRecord& h = rank_.host_records[i];
      if (!window_.has(h.start_ns)) continue;
      ++out_.host_records;
      out_.host_begin = std::min(out_.host_begin, h.start_ns);
      out_.host_end = std::max(out_.host_end, h.end_ns());
      const bool kernel = h.call == RuntimeCall::launch_kernel, graph = h.call == RuntimeCall::launch_graph;
      if (kernel || graph)
        ++out_.launches_of_process[h.thread < rank_.threads.size() ? rank_.threads[h.thread].process : 0];
      if ((kernel || graph) && !is_within(captures, h.start_ns)) {
        LaunchCounts& of = kernel ? out_.launches : out_.graph_launches;
        ++of.all;
        if (!has_work[i]) of.lost_at.push_back(h.start_ns);
      }
      if (h.call == RuntimeCall::memcpy) ++out_.copy_calls, out_.lost_copies += has_work[i] ? 0 : 1;
    }
  }

  /// Intervals in which calls are recorded for a graph, which runs nothing.
  std::vector<std::pair<std::int64_t, std::int64_t>> captures_of_graphs() const {
    std::vector<std::pair<std::int64_t, bool>> marks;  // when one begins or ends
    std::map<NameId, int> kind_of;                     // of a name: begins, ends, neither
    for (const HostRecord& h : rank_.host_records) {
      if (h.call != RuntimeCall::other || !h.name.valid()) continue;
      const auto [at, fresh] = kind_of.emplace(h.name, 0);
      const std::string_view name = fresh ? job_.name(h.name) : "";
      if (name.find("StreamBeginCapture") != name.npos) at->second = 1;
      if (name.find("StreamEndCapture") != name.npos) at->second = 2;
      if (at->second != 0) marks.emplace_back(h.start_ns, at->second == 1);
    }
    std::ranges::sort(marks);
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    int open = 0;
    for (const auto& [at, begins] : marks) {
      if (begins && open++ == 0) out.emplace_back(at, INT64_MAX);
      if (!begins && out.empty()) out.emplace_back(INT64_MIN, at);  // begun before the recording
      if (!begins && open > 0 && --open == 0) out.back().second = at;
    }
    return out;
  }

  static bool is_within(const std::vector<std::pair<std::int64_t, std::int64_t>>& intervals, std::int64_t at) {
    const auto after = std::ranges::upper_bound(intervals, at, {}, &std::pair<std::int64_t, std::int64_t>::first);
    return after != intervals.begin() && at < std::prev(after)->second;
  }

  void count_steps(const std::vector<TraceStep>& steps) {
    if (steps.empty() || !steps.front().name.starts_with(kProfilerStep)) return;
    const std::int64_t begin = steps.front().start_ns, end = steps.back().end_ns;
    out_.steps = steps.size();
    for (const DeviceRecord& d : rank_.device_records) {
      if (d.launch == kNone || d.kind != DeviceRecordKind::kernel) continue;
      const std::int64_t at = launched_at(d);
      if (!window_.has(at) || at < begin) continue;
      if (at >= end) {
        ++out_.after_steps;
        continue;
      }
      ++out_.in_steps;
      out_.between_steps += step_at(steps, at) == kNone ? 1 : 0;
    }
  }

  void count_order() {
    for (const DeviceRecord& d : rank_.device_records) {
      if (!window_.has(d.start_ns)) continue;
      ++out_.device_records;
      out_.device_end = std::max(out_.device_end, d.end_ns());
      out_.unlaunched += d.launch == kNone ? 1 : 0;
      out_.device_time += d.duration_ns;
      if (d.kind == DeviceRecordKind::memcpy && d.bytes >= kLargeBytes) {
        ++out_.large_copies;
        const double seconds = static_cast<double>(std::max<std::int64_t>(d.duration_ns, 1)) * 1e-9;
        out_.fast_copies += static_cast<double>(d.bytes) > fastest_copy(d.direction) * seconds ? 1 : 0;
      }
      if (d.kind != DeviceRecordKind::kernel) continue;
      ++out_.kernels;
      out_.communication += d.communication ? 1 : 0;
      out_.timeless += d.duration_ns == 0 ? 1 : 0;
      out_.too_short += d.duration_ns < kShortestKernel ? 1 : 0;
      out_.in_nanoseconds += d.duration_ns % 1000 != 0 ? 1 : 0;
      if (d.launch == kNone) continue;
      ++out_.launched;
      const std::int64_t delay = d.start_ns - launched_at(d);
      out_.before += delay < -kRounding ? 1 : 0;
      out_.early += delay < -kBeforeItsLaunch ? 1 : 0;
      out_.least_delay = std::min(out_.least_delay, delay);
    }
  }

  /// Where all times are in whole microseconds.
  void count_names() {
    if (out_.in_nanoseconds > 0) return;
    std::map<NameId, CallsOfName> of_name;
    for (const DeviceRecord& d : rank_.device_records) {
      if (d.kind != DeviceRecordKind::kernel || !window_.has(d.start_ns)) continue;
      CallsOfName& calls = of_name[d.name];
      (d.duration_ns == 0 ? calls.timeless : calls.timed) += 1;
      calls.lasting += d.duration_ns >= kLastingKernel ? 1 : 0;
      calls.communicates = calls.communicates || d.communication;
    }
    for (const auto& [name, calls] : of_name) {
      Fnv64 hash;
      hash.add(name.valid() ? job_.name(name) : std::string_view());
      out_.calls_of_names[hash.value()].add(calls);
    }
  }

  void count_unlaunched() {
    for (const TraceStream& stream : rank_.streams) {
      UnlaunchedOfStream* of = nullptr;
      for (std::uint32_t i = stream.begin; i < stream.end; ++i) {
        const DeviceRecord& d = rank_.device_records[i];
        if (!window_.has(d.start_ns)) continue;
        if (of == nullptr) of = &out_.unlaunched_of[{stream.device, stream.context, stream.id}];
        of->take(d.launch != kNone);
      }
    }
  }

  /// By when the work was launched: when all of it up to there has ended.
  using Ends = std::vector<std::pair<std::int64_t, std::int64_t>>;

  void add_end(Ends& ends, const DeviceRecord& d) const {
    if (d.launch != kNone) ends.emplace_back(rank_.host_records[d.launch].end_ns(), d.end_ns());
  }
  static void sort_ends(Ends& ends) {
    std::ranges::sort(ends);
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i].second = std::max(ends[i].second, ends[i - 1].second);
  }

  void count_host_waits() {
    std::vector<Ends> of_stream(rank_.streams.size());
    Ends of_device;  // where all work is of one: a call does not say for which it waits
    bool is_one = true;
    for (std::size_t s = 0; s < rank_.streams.size(); ++s) {
      const TraceStream& stream = rank_.streams[s];
      for (std::uint32_t i = stream.begin; i < stream.end; ++i) {
        add_end(of_stream[s], rank_.device_records[i]);
        add_end(of_device, rank_.device_records[i]);
      }
      is_one = is_one && (stream.device == rank_.streams.front().device || stream.begin == stream.end);
      sort_ends(of_stream[s]);
    }
    sort_ends(of_device);
    for (const HostRecord& h : rank_.host_records) {
      if (h.call == RuntimeCall::device_synchronize && is_one) count_host_wait(of_device, h.start_ns, h);
    }
    for (const SyncRecord& s : rank_.syncs) {
      if (s.call == kNone) continue;
      const HostRecord& call = rank_.host_records[s.call];
      if (s.kind == SyncKind::stream && s.stream != kNone && call.call == RuntimeCall::stream_synchronize)
        count_host_wait(of_stream[s.stream], call.start_ns, call);
      if (s.kind == SyncKind::event && s.wait_on_stream != kNone && s.record_call != kNone &&
          call.call == RuntimeCall::event_synchronize)
        count_host_wait(of_stream[s.wait_on_stream], rank_.host_records[s.record_call].start_ns, call);
    }
  }

  /// A call that waits for what had been launched by then.
  void count_host_wait(const Ends& ends, std::int64_t launched_by, const HostRecord& call) {
    if (!window_.has(call.start_ns)) return;
    const auto next = std::ranges::upper_bound(ends, launched_by, {}, &std::pair<std::int64_t, std::int64_t>::first);
    if (next == ends.begin()) return;
    ++out_.host_waits;
    const std::int64_t before = std::prev(next)->second - call.end_ns();
    if (before <= kBeforeItsWork) return;
    ++out_.ended_before;
    out_.ended_early += before > kBeforeItsLaunch ? 1 : 0;
    out_.most_before = std::max(out_.most_before, before);
  }

  /// Times in which the GPU had nothing to do, and kernels that were launched before and began only after them.
  void count_holes() {
    std::vector<const DeviceRecord*> by_start;
    for (const DeviceRecord& d : rank_.device_records) by_start.push_back(&d);
    std::ranges::stable_sort(by_start, {}, &DeviceRecord::start_ns);
    std::int64_t busy_until = INT64_MIN;
    const DeviceRecord* before = nullptr;
    for (const DeviceRecord* d : by_start) {
      if (d->kind == DeviceRecordKind::kernel && d->launch != kNone && window_.has(d->start_ns)) {
        const std::int64_t idle = d->start_ns - std::max(busy_until, rank_.host_records[d->launch].end_ns());
        out_.late += idle > kAfterItsLaunch ? 1 : 0;
        if (idle > kAfterItsLaunch) out_.most_idle = std::max(out_.most_idle, idle);
      }
      if (busy_until != INT64_MIN && window_.has(d->start_ns)) {
        const std::int64_t hole = d->start_ns - busy_until;
        out_.widest_hole = std::max(out_.widest_hole, hole);
        out_.far_behind += hole / kFarBehind > std::max(d->duration_ns, before->duration_ns) ? 1 : 0;
      }
      busy_until = std::max(busy_until, d->end_ns());
      before = d;
    }
  }

  /// Kernels that start before one earlier on their stream has ended, and those that are the one before again; copies likewise.
  void count_overlaps() {
    for (const TraceStream& stream : rank_.streams) {
      std::int64_t end = INT64_MIN;
      const DeviceRecord *kernel = nullptr, *copy = nullptr;
      for (std::uint32_t i = stream.begin; i < stream.end; ++i) {
        const DeviceRecord& d = rank_.device_records[i];
        const bool counts = window_.has(d.start_ns), is_kernel = d.kind == DeviceRecordKind::kernel;
        const DeviceRecord*& before = is_kernel ? kernel : copy;
        const bool again = counts && before != nullptr && is_again(*before, d);
        before = &d;
        (is_kernel ? out_.in_streams : out_.copies_in_streams) += counts ? 1 : 0;
        (is_kernel ? out_.twice : out_.copies_twice) += again ? 1 : 0;
        if (!is_kernel) continue;
        if (end != INT64_MIN && d.start_ns < end - kRounding && counts) ++out_.at_once;
        end = std::max(end, d.end_ns());
      }
    }
  }

  static bool is_again(const DeviceRecord& before, const DeviceRecord& d) {
    return d.duration_ns > 0 && before.start_ns == d.start_ns && before.duration_ns == d.duration_ns &&
           before.name == d.name && before.kind == d.kind;
  }

  /// What a collective says of itself against its kernel's name, its time, and the rank that it was recorded on.
  void count_collective(const TraceCollective& c) {
    const bool has_kernel = c.device_record != kNone;
    if (!has_kernel && c.host_record == kNone) return;
    if (!window_.has(has_kernel ? rank_.device_records[c.device_record].start_ns
                                : rank_.host_records[c.host_record].start_ns))
      return;
    ++out_.collectives;
    if (has_kernel) {
      out_.no_kind += c.kind_known ? 0 : 1;
      out_.no_size += c.bytes < 0 ? 1 : 0;
    }
    if (states_two_sizes(job_, c) && out_.two_sizes++ == 0) {
      const std::uint32_t ranks = c.group == kNone ? 0 : job_.groups[c.group].size;
      out_.first_two_sizes = std::string(graph::name_of(c.kind)) +
                             (ranks > 0 ? " over " + std::to_string(ranks) + " ranks" : "") + ", " +
                             std::to_string(c.in_elements) + " in and " + std::to_string(c.out_elements) + " out";
    }
    if (c.call_elements >= 0 && out_.other_calls++ == 0) {
      const bool in = c.in_elements >= 0 && c.in_elements != c.call_elements;
      out_.first_other_call = std::string(graph::name_of(c.kind)) + " of " +
                              std::to_string(in ? c.in_elements : c.out_elements) + " elements, by a call of " +
                              std::to_string(c.call_elements);
    }
    if (c.other_dtype && out_.other_dtypes++ == 0)
      out_.first_other_dtype = std::string(graph::name_of(c.kind)) + " of " + std::string(graph::name_of(c.dtype)) +
                               " and " + std::string(graph::name_of(*c.other_dtype)) + " on " +
                               in_quotes(job_.name(rank_.device_records[c.device_record].name), 60);
    if (c.kind_known && has_kernel) {
      const std::string_view name = job_.name(rank_.device_records[c.device_record].name);
      const auto kernel = collective_of_kernel(name);
      if (kernel && !may_launch(c.kind, *kernel) && out_.unlike++ == 0)
        out_.first_unlike = std::string(graph::name_of(c.kind)) + " on " + in_quotes(name, 60);
    }
    if (c.group == kNone) return;
    const TraceGroup& group = job_.groups[c.group];
    count_rate(c, group.ranks.empty() ? group.size : group.ranks.size());
    if (!group.ranks.empty() && !std::ranges::binary_search(group.ranks, rank_.rank) && out_.not_member++ == 0)
      out_.first_group = in_quotes(group.name, 60);
  }

  void count_rate(const TraceCollective& c, std::size_t ranks) {
    if (!c.kind_known || c.bytes < kLargeBytes || c.device_record == kNone || ranks < 2) return;
    const std::int64_t ns = rank_.device_records[c.device_record].duration_ns;
    if (ns <= 0) return;
    ++out_.large_collectives;
    const double busbw = graph::busbw_factor(c.kind, static_cast<std::uint32_t>(ranks)) * static_cast<double>(c.bytes) /
                         (static_cast<double>(ns) * 1e-9);
    out_.fast_collectives += busbw > kFastestBus ? 1 : 0;
  }

  /// An allocator holds what it gives out, and no more than the device has.
  void count_memory(const MemoryRecord& m) {
    if (!window_.has(m.start_ns)) return;
    const auto device = std::ranges::find(rank_.devices, m.device, &TraceDevice::index);
    const std::uint64_t has = device == rank_.devices.end() ? 0 : device->memory_bytes;
    if (has > 0 && m.allocated > out_.beyond_device.found && static_cast<std::uint64_t>(m.allocated) > has)
      out_.beyond_device = {m.allocated, static_cast<std::int64_t>(has), m.device};
    if (out_.beyond_reserved.found == 0 && m.reserved > 0 && m.allocated > m.reserved)
      out_.beyond_reserved = {m.allocated, m.reserved, m.device};
  }

  const TraceJob& job_;
  const TraceRank& rank_;
  const CountedWindow window_;
  WorkCounts out_;
};

}  // namespace

void CallsOfName::add(const CallsOfName& o) {
  timeless += o.timeless;
  timed += o.timed;
  lasting += o.lasting;
  communicates = communicates || o.communicates;
}

void LaunchCounts::add(const LaunchCounts& o) {
  all += o.all;
  lost_at.insert(lost_at.end(), o.lost_at.begin(), o.lost_at.end());
}

void UnlaunchedOfStream::take(bool is_launched) {
  if (!is_launched) {
    ++(has_launched ? after : before);
    return;
  }
  between += after;
  after = 0;
  has_launched = true;
}

void UnlaunchedOfStream::add(const UnlaunchedOfStream& later) {
  (has_launched ? after : before) += later.before;
  if (!later.has_launched) return;
  between += after + later.between;
  after = later.after;
  has_launched = true;
}

void WorkCounts::add(const WorkCounts& o) {
  joined = joined || o.joined;
  steps = std::max(steps, o.steps);
  for (std::uint64_t WorkCounts::*sum : {&WorkCounts::copy_calls,
                                         &WorkCounts::lost_copies,
                                         &WorkCounts::host_records,
                                         &WorkCounts::device_records,
                                         &WorkCounts::unlaunched,
                                         &WorkCounts::far_behind,
                                         &WorkCounts::in_steps,
                                         &WorkCounts::between_steps,
                                         &WorkCounts::after_steps,
                                         &WorkCounts::kernels,
                                         &WorkCounts::timeless,
                                         &WorkCounts::too_short,
                                         &WorkCounts::in_nanoseconds,
                                         &WorkCounts::launched,
                                         &WorkCounts::before,
                                         &WorkCounts::early,
                                         &WorkCounts::late,
                                         &WorkCounts::large_copies,
                                         &WorkCounts::fast_copies,
                                         &WorkCounts::large_collectives,
                                         &WorkCounts::fast_collectives,
                                         &WorkCounts::collectives,
                                         &WorkCounts::unlike,
                                         &WorkCounts::not_member,
                                         &WorkCounts::communication,
                                         &WorkCounts::no_kind,
                                         &WorkCounts::no_size,
                                         &WorkCounts::two_sizes,
                                         &WorkCounts::in_streams,
                                         &WorkCounts::at_once,
                                         &WorkCounts::twice,
                                         &WorkCounts::copies_in_streams,
                                         &WorkCounts::copies_twice,
                                         &WorkCounts::host_waits,
                                         &WorkCounts::ended_before,
                                         &WorkCounts::ended_early,
                                         &WorkCounts::other_calls,
                                         &WorkCounts::other_dtypes})
    this->*sum += o.*sum;
  launches.add(o.launches);
  graph_launches.add(o.graph_launches);
  for (const auto& [graph, of] : o.graphs) graphs[graph].add(of);
  for (const auto& [stream, of] : o.unlaunched_of) unlaunched_of[stream].add(of);
  for (const auto& [process, calls] : o.launches_of_process) launches_of_process[process] += calls;
  for (const auto& [name, calls] : o.calls_of_names) calls_of_names[name].add(calls);
  host_begin = std::min(host_begin, o.host_begin);
  host_end = std::max(host_end, o.host_end);
  device_end = std::max(device_end, o.device_end);
  least_delay = std::min(least_delay, o.least_delay);
  most_idle = std::max(most_idle, o.most_idle);
  most_before = std::max(most_before, o.most_before);
  widest_hole = std::max(widest_hole, o.widest_hole);
  device_time += o.device_time;
  if (first_unlike.empty()) first_unlike = o.first_unlike;
  if (first_group.empty()) first_group = o.first_group;
  if (first_two_sizes.empty()) first_two_sizes = o.first_two_sizes;
  if (first_other_call.empty()) first_other_call = o.first_other_call;
  if (first_other_dtype.empty()) first_other_dtype = o.first_other_dtype;
  first_joined = std::min(first_joined, o.first_joined);
  for (const auto& [stream, end] : o.stream_ends) {
    StreamEnd& own = stream_ends[stream];
    if (end.end >= own.end) own = end;
  }
  if (o.beyond_device.found > beyond_device.found) beyond_device = o.beyond_device;
  if (beyond_reserved.found == 0) beyond_reserved = o.beyond_reserved;
}

void WorkCounts::shift(std::int64_t by_ns) {
  for (LaunchCounts* of : {&launches, &graph_launches}) {
    for (std::int64_t& at : of->lost_at) at += by_ns;
  }
  for (auto& [graph, of] : graphs) {
    for (GraphLaunches::Launch& launch : of.launches) launch.at += by_ns;
  }
  if (host_records > 0) host_begin += by_ns, host_end += by_ns;
  if (device_records > 0) device_end += by_ns;
  if (first_joined != INT64_MAX) first_joined += by_ns;
  for (auto& [stream, end] : stream_ends) end.end += by_ns, end.launched += by_ns;
}

std::uint64_t WorkCounts::lost_times() const {
  std::uint64_t lost = 0;
  for (const auto& [name, calls] : calls_of_names)
    lost += calls.communicates || 2 * calls.lasting > calls.timed ? calls.timeless : 0;
  return lost;
}

WorkCounts count_work(const TraceJob& job, const TraceRank& rank, const std::vector<TraceStep>& steps,
                      const CountedWindow& window) {
  return Counter(job, rank, window).count(steps);
}

}  // namespace distsim::traces
