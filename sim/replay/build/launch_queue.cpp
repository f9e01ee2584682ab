#include "sim/replay/build/launch_queue.hpp"

#include <algorithm>

#include "sim/replay/build/device_causes.hpp"

namespace distsim::replay {
namespace {

/// Of the 1024 places of CUDA's queue, those that a trace must show as taken (three quarters), and share of the most that it
/// ever shows: some hold what no profiler records. Chosen.
constexpr std::size_t kFullQueue = 768;
constexpr double kNearlyFull = 0.95;

/// Times the usual length of a call, from which on it may have waited. Chosen, not fitted.
constexpr std::int64_t kLonger = 2;

bool enters_queue(traces::RuntimeCall call) {
  switch (call) {
    case traces::RuntimeCall::launch_kernel:
    case traces::RuntimeCall::launch_graph:
    case traces::RuntimeCall::memcpy:
    case traces::RuntimeCall::memset:
    case traces::RuntimeCall::event_record:
    case traces::RuntimeCall::stream_wait_event:
      return true;
    default:
      return false;
  }
}

bool is_event(traces::RuntimeCall call) {
  return call == traces::RuntimeCall::event_record || call == traces::RuntimeCall::stream_wait_event;
}

std::int64_t value_at(std::vector<std::int64_t> values, std::size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

LaunchQueue::LaunchQueue(const traces::TraceRank& rank, const DeviceOrder& order)
    : rank_(rank), order_(order), device_of_(rank.host_records.size(), traces::kNone) {
  find_entries();
  for (std::uint32_t h = 0; h < device_of_.size(); ++h) {
    if (device_of_[h] == traces::kNone) continue;
    std::size_t& most = by_device_[device_of_[h]].most;
    most = std::max(most, outstanding(h));
  }
  find_usual();
}

void LaunchQueue::find_entries() {
  std::vector<std::uint32_t> first(rank_.host_records.size(), traces::kNone);  // by call: what it launched first
  for (std::uint32_t s = 0; s < order_.streams(); ++s) {
    bool launched_before = true;
    for (const std::uint32_t r : order_.of(s)) {
      const traces::DeviceRecord& d = rank_.device_records[r];
      if (d.launch == traces::kNone) {
        if (!launched_before) continue;
        Entries& e = by_device_[rank_.streams[s].device];
        e.called.push_back(INT64_MIN);
        e.begun.push_back(d.start_ns);
        continue;
      }
      launched_before = false;
      std::uint32_t& of_call = first[d.launch];
      if (of_call == traces::kNone || d.start_ns < rank_.device_records[of_call].start_ns) of_call = r;
    }
  }
  std::uint32_t thread = traces::kNone, last = traces::kNone;  // host records are in order of thread, then start
  for (std::uint32_t h = 0; h < rank_.host_records.size(); ++h) {
    const traces::HostRecord& call = rank_.host_records[h];
    if (call.kind != traces::HostKind::runtime || !enters_queue(call.call)) continue;
    if (call.thread != thread) last = traces::kNone;
    thread = call.thread;
    if (first[h] != traces::kNone) last = first[h];
    if (last == traces::kNone || (first[h] == traces::kNone && !is_event(call.call))) continue;
    device_of_[h] = rank_.streams[rank_.device_records[last].stream].device;
    Entries& e = by_device_[device_of_[h]];
    e.called.push_back(call.start_ns);
    e.begun.push_back(std::max(call.start_ns, rank_.device_records[last].start_ns));
  }
  for (auto& [device, e] : by_device_) {
    std::ranges::sort(e.called);
    std::ranges::sort(e.begun);
  }
}

void LaunchQueue::find_usual() {
  std::map<Kind, std::vector<std::int64_t>> all, quiet;
  for (std::uint32_t h = 0; h < rank_.host_records.size(); ++h) {
    if (device_of_[h] == traces::kNone) continue;
    const traces::HostRecord& call = rank_.host_records[h];
    all[{call.thread, call.call}].push_back(call.duration_ns);
    if (outstanding(h) < kFullQueue / 2) quiet[{call.thread, call.call}].push_back(call.duration_ns);
  }
  for (auto& [kind, durations] : all) {
    const auto found = quiet.find(kind);
    usual_[kind] = found != quiet.end() ? value_at(found->second, found->second.size() / 2)
                                        : value_at(durations, durations.size() / 10);
  }
}

std::size_t LaunchQueue::outstanding(std::uint32_t call) const {
  const std::int64_t at = rank_.host_records[call].start_ns;
  const Entries& e = by_device_.at(device_of_[call]);
  const auto called = std::ranges::lower_bound(e.called, at) - e.called.begin();
  const auto begun = std::ranges::upper_bound(e.begun, at) - e.begun.begin();
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, called - begun));
}

std::int64_t LaunchQueue::usual_ns(std::uint32_t call) const {
  const traces::HostRecord& h = rank_.host_records[call];
  const auto usual = usual_.find({h.thread, h.call});
  return usual == usual_.end() ? h.duration_ns : std::min(usual->second, h.duration_ns);
}

bool LaunchQueue::is_full_at(std::uint32_t call) const {
  if (device_of_[call] == traces::kNone) return false;
  const auto most = static_cast<double>(by_device_.at(device_of_[call]).most);
  const auto full = std::max(static_cast<double>(kFullQueue), kNearlyFull * most);
  return rank_.host_records[call].duration_ns > kLonger * usual_ns(call) &&
         static_cast<double>(outstanding(call)) >= full;
}

std::uint32_t LaunchQueue::made_room(std::uint32_t call) const {
  const traces::HostRecord& h = rank_.host_records[call];
  const std::int64_t returns = h.end_ns() - usual_ns(call);
  std::uint32_t found = traces::kNone;
  for (std::uint32_t s = 0; s < order_.streams(); ++s) {
    if (rank_.streams[s].device != device_of_[call]) continue;
    const std::uint32_t r = order_.last_ended_by(s, h.start_ns, returns);
    if (r == traces::kNone || rank_.device_records[r].end_ns() <= h.start_ns - kHostClockSlip) continue;
    if (found == traces::kNone || rank_.device_records[r].end_ns() > rank_.device_records[found].end_ns()) found = r;
  }
  if (found == traces::kNone || returns - rank_.device_records[found].end_ns() > kNearNs) return traces::kNone;
  return found;
}

}  // namespace distsim::replay
