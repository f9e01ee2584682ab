// DeviceOrder: the device records of a rank by stream, in order of start, with when each was launched.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::replay {

class DeviceOrder {
 public:
  explicit DeviceOrder(const traces::TraceRank& rank);

  std::uint32_t streams() const { return static_cast<std::uint32_t>(by_stream_.size()); }
  std::span<const std::uint32_t> of(std::uint32_t stream) const { return by_stream_[stream]; }
  /// Start of the call that launched it. Where no launch was recorded, the latest that it can be: its own start, or the launch
  /// of the next of its stream.
  std::int64_t launched_ns(std::uint32_t record) const { return launched_[record]; }

  /// The last record of a stream that was launched before `ns`, or kNone.
  std::uint32_t last_launched_before(std::uint32_t stream, std::int64_t ns) const;
  /// The last record of a stream that was launched before `ns` and had ended by `end_ns`, or kNone.
  std::uint32_t last_ended_by(std::uint32_t stream, std::int64_t ns, std::int64_t end_ns) const;

 private:
  void launched_before_the_next(const std::vector<std::uint32_t>& records);

  const traces::TraceRank& rank_;
  std::vector<std::vector<std::uint32_t>> by_stream_;
  std::vector<std::int64_t> launched_;
  std::vector<std::vector<std::int64_t>> latest_launch_,
      latest_end_;  ///< by stream and place: the latest so far, so that both can be searched
};

}  // namespace distsim::replay
