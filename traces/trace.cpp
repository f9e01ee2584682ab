#include "traces/trace.hpp"

#include <algorithm>

namespace distsim::traces {

std::string_view name_of(HostKind kind) {
  switch (kind) {
    case HostKind::op:
      return "op";
    case HostKind::annotation:
      return "annotation";
    case HostKind::runtime:
      return "runtime";
    case HostKind::python:
      return "python";
  }
  return "?";
}

std::string_view name_of(DeviceRecordKind kind) {
  switch (kind) {
    case DeviceRecordKind::kernel:
      return "kernel";
    case DeviceRecordKind::memcpy:
      return "memcpy";
    case DeviceRecordKind::memset:
      return "memset";
  }
  return "?";
}

std::string_view name_of(RuntimeCall call) {
  switch (call) {
    case RuntimeCall::none:
      return "none";
    case RuntimeCall::launch_kernel:
      return "launch_kernel";
    case RuntimeCall::launch_graph:
      return "launch_graph";
    case RuntimeCall::memcpy:
      return "memcpy";
    case RuntimeCall::memset:
      return "memset";
    case RuntimeCall::event_record:
      return "event_record";
    case RuntimeCall::stream_wait_event:
      return "stream_wait_event";
    case RuntimeCall::event_synchronize:
      return "event_synchronize";
    case RuntimeCall::stream_synchronize:
      return "stream_synchronize";
    case RuntimeCall::device_synchronize:
      return "device_synchronize";
    case RuntimeCall::allocate:
      return "allocate";
    case RuntimeCall::free:
      return "free";
    case RuntimeCall::other:
      return "other";
  }
  return "?";
}

void TraceNotes::assume(std::string text) {
  if (std::find(assumptions.begin(), assumptions.end(), text) == assumptions.end())
    assumptions.push_back(std::move(text));
}

void TraceNotes::miss(std::string text) {
  if (std::find(missing.begin(), missing.end(), text) == missing.end()) missing.push_back(std::move(text));
}

void TraceNotes::drop(std::string_view what, std::uint64_t n) {
  if (n == 0) return;
  for (Count& c : dropped) {
    if (c.what == what) {
      c.count += n;
      return;
    }
  }
  dropped.push_back({std::string(what), n});
}

void TraceNotes::lose(std::string_view what, std::uint64_t n) {
  if (n == 0) return;
  drop(what, n);
  miss(std::string(what) + " (" + std::to_string(n) + ")");
}

void move_times(TraceRank& rank, std::int64_t by) {
  for (HostRecord& r : rank.host_records) r.start_ns += by;
  for (DeviceRecord& r : rank.device_records) r.start_ns += by;
  for (MedianEvent& e : rank.median_events) e.start_ns += by;
  for (SyncRecord& r : rank.syncs) r.start_ns += by;
  for (MemoryRecord& r : rank.memory) r.start_ns += by;
  for (ProfilerWork& r : rank.profiler_work) r.start_ns += by;
  for (TraceStep& s : rank.steps) {
    s.start_ns += by;
    s.end_ns += by;
    if (s.device_records > 0) s.first_device_ns += by, s.last_device_ns += by;
  }
}

std::string driver_name_of(const TraceJob& job) {
  for (const TraceRank& rank : job.ranks) {
    for (const TraceDevice& d : rank.devices) {
      if (!d.name.empty()) return d.name;
    }
  }
  return "";
}

}  // namespace distsim::traces
