#include "sim/replay/build/device_order.hpp"

#include <algorithm>

namespace distsim::replay {

DeviceOrder::DeviceOrder(const traces::TraceRank& rank)
    : rank_(rank), by_stream_(rank.streams.size()), launched_(rank.device_records.size()) {
  for (std::uint32_t i = 0; i < rank.device_records.size(); ++i) {
    const traces::DeviceRecord& d = rank.device_records[i];
    by_stream_[d.stream].push_back(i);
    launched_[i] = d.launch == traces::kNone ? d.start_ns : std::min(d.start_ns, rank.host_records[d.launch].start_ns);
  }
  for (auto& records : by_stream_) {
    std::stable_sort(records.begin(), records.end(), [&](std::uint32_t a, std::uint32_t b) {
      return rank.device_records[a].start_ns < rank.device_records[b].start_ns;
    });
    launched_before_the_next(records);
    auto& launches = latest_launch_.emplace_back();
    auto& ends = latest_end_.emplace_back();
    for (const std::uint32_t r : records) {
      launches.push_back(launches.empty() ? launched_[r] : std::max(launches.back(), launched_[r]));
      const std::int64_t end = rank.device_records[r].end_ns();
      ends.push_back(ends.empty() ? end : std::max(ends.back(), end));
    }
  }
}

/// A stream runs its work in the order of the launches. Work of a backlog, whose launches came before the trace, may start long
/// after those of the work behind it.
void DeviceOrder::launched_before_the_next(const std::vector<std::uint32_t>& records) {
  std::int64_t next = INT64_MAX;
  for (auto r = records.rbegin(); r != records.rend(); ++r) {
    if (rank_.device_records[*r].launch == traces::kNone) launched_[*r] = std::min(launched_[*r], next);
    next = launched_[*r];
  }
}

std::uint32_t DeviceOrder::last_launched_before(std::uint32_t stream, std::int64_t ns) const {
  const auto& launches = latest_launch_[stream];
  const auto it = std::lower_bound(launches.begin(), launches.end(), ns);
  return it == launches.begin() ? traces::kNone
                                : by_stream_[stream][static_cast<std::size_t>(it - launches.begin()) - 1];
}

std::uint32_t DeviceOrder::last_ended_by(std::uint32_t stream, std::int64_t ns, std::int64_t end_ns) const {
  const auto& launches = latest_launch_[stream];
  const auto& ends = latest_end_[stream];
  const auto launched = std::lower_bound(launches.begin(), launches.end(), ns) - launches.begin();
  const auto ended = std::upper_bound(ends.begin(), ends.end(), end_ns) - ends.begin();
  const auto n = static_cast<std::size_t>(std::min(launched, ended));
  return n == 0 ? traces::kNone : by_stream_[stream][n - 1];
}

}  // namespace distsim::replay
