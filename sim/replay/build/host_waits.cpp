#include "sim/replay/build/host_waits.hpp"

#include <algorithm>

#include "sim/replay/build/device_causes.hpp"

namespace distsim::replay {
namespace {

// Chosen, not fitted; ns.
constexpr std::int64_t kLongCall = 50'000;  ///< a call that takes longer may have waited

}  // namespace

HostWaits::HostWaits(const traces::TraceRank& rank, const DeviceOrder& order)
    : rank_(rank),
      order_(order),
      queue_(rank, order),
      first_launched_(rank.host_records.size(), traces::kNone),
      sync_of_call_(rank.host_records.size(), traces::kNone) {
  for (std::uint32_t r = 0; r < rank.device_records.size(); ++r) {
    const std::uint32_t launch = rank.device_records[r].launch;
    if (launch != traces::kNone && first_launched_[launch] == traces::kNone) first_launched_[launch] = r;
  }
  for (std::uint32_t s = 0; s < rank.syncs.size(); ++s) {
    if (rank.syncs[s].call != traces::kNone && rank.syncs[s].kind != traces::SyncKind::stream_waits_event)
      sync_of_call_[rank.syncs[s].call] = s;
  }
}

HostWait HostWaits::of(std::uint32_t call) const {
  switch (rank_.host_records[call].call) {
    case traces::RuntimeCall::device_synchronize:
      return device(call);
    case traces::RuntimeCall::stream_synchronize:
    case traces::RuntimeCall::event_synchronize:
      return stream(call);
    case traces::RuntimeCall::memcpy:
    case traces::RuntimeCall::memset:
      return copy(call);
    case traces::RuntimeCall::free:
    case traces::RuntimeCall::allocate:
      return memory(call);
    default:
      return room(call);
  }
}

/// A wait for these records: what the call took after the last of them.
HostWait HostWaits::after(std::uint32_t call, std::vector<std::uint32_t> records) const {
  const traces::HostRecord& h = rank_.host_records[call];
  std::int64_t from = h.start_ns;
  for (const std::uint32_t r : records) from = std::max(from, rank_.device_records[r].end_ns());
  return {std::move(records), std::max<std::int64_t>(0, h.end_ns() - from)};
}

bool HostWaits::binds(std::uint32_t call, std::uint32_t record) const {
  const std::int64_t end = rank_.device_records[record].end_ns();
  return end > rank_.host_records[call].start_ns && end <= rank_.host_records[call].end_ns() + kHostClockSlip;
}

HostWait HostWaits::device(std::uint32_t call) const {
  std::vector<std::uint32_t> last;
  for (std::uint32_t s = 0; s < order_.streams(); ++s) {
    const std::uint32_t r = order_.last_launched_before(s, rank_.host_records[call].start_ns);
    if (r != traces::kNone && rank_.device_records[r].end_ns() <= rank_.host_records[call].end_ns() + kHostClockSlip)
      last.push_back(r);
  }
  return after(call, std::move(last));
}

/// The record launched before the call that ended last before its end: the last of its stream, or any.
HostWait HostWaits::latest_end(std::uint32_t call, bool last_of_stream) const {
  const traces::HostRecord& h = rank_.host_records[call];
  std::uint32_t found = traces::kNone;
  for (std::uint32_t s = 0; s < order_.streams(); ++s) {
    const std::uint32_t r = last_of_stream ? order_.last_launched_before(s, h.start_ns)
                                           : order_.last_ended_by(s, h.start_ns, h.end_ns() + kHostClockSlip);
    if (r == traces::kNone || rank_.device_records[r].end_ns() > h.end_ns() + kHostClockSlip) continue;
    if (found == traces::kNone || rank_.device_records[r].end_ns() > rank_.device_records[found].end_ns()) found = r;
  }
  if (found == traces::kNone) return {{}, h.duration_ns};
  return after(call, {found});
}

HostWait HostWaits::stream(std::uint32_t call) const {
  const std::uint32_t s = sync_of_call_[call];
  if (s != traces::kNone && rank_.syncs[s].stream != traces::kNone && rank_.syncs[s].kind == traces::SyncKind::stream) {
    const std::uint32_t r = order_.last_launched_before(rank_.syncs[s].stream, rank_.host_records[call].start_ns);
    if (r != traces::kNone && rank_.device_records[r].end_ns() <= rank_.host_records[call].end_ns() + kHostClockSlip)
      return after(call, {r});
  }
  return latest_end(call, rank_.host_records[call].call == traces::RuntimeCall::stream_synchronize);
}

HostWait HostWaits::copy(std::uint32_t call) const {
  const std::uint32_t own = first_launched_[call];
  if (own == traces::kNone || rank_.device_records[own].end_ns() > rank_.host_records[call].end_ns()) return room(call);
  return after(call, {own});
}

/// A call that found the queue of launches full costs what such calls usually do, once there is room.
HostWait HostWaits::room(std::uint32_t call) const {
  const traces::HostRecord& h = rank_.host_records[call];
  HostWait wait{{}, h.duration_ns};
  if (!queue_.is_full_at(call)) return wait;
  const std::uint32_t by = queue_.made_room(call);
  if (by == traces::kNone) {
    if (h.duration_ns - queue_.usual_ns(call) > kLongCall) wait.reason = HostWait::For::unseen_room;
    return wait;
  }
  wait.reason = HostWait::For::room;
  wait.records = {by};
  wait.own_ns = queue_.usual_ns(call);
  wait.delay_ns = h.end_ns() - wait.own_ns - rank_.device_records[by].end_ns();
  return wait;
}

HostWait HostWaits::memory(std::uint32_t call) const {
  const traces::HostRecord& h = rank_.host_records[call];
  if (h.duration_ns < kLongCall) return {{}, h.duration_ns};
  HostWait wait = latest_end(call, true);
  const bool waited = !wait.records.empty() && binds(call, wait.records.front()) && wait.own_ns <= h.duration_ns / 2;
  return waited ? wait : HostWait{{}, h.duration_ns};
}

}  // namespace distsim::replay
