// What held a kernel back: the kernel before it on its stream, its launch, or work on another stream.
//
// With s1 = start - end of the kernel before, s2 = start - start of the launch call:
//   the device's own gap and the launch latency are the typical s1 of kernels that were queued long before, and the
//   typical s2 of kernels that found their stream idle. Where s1 is below 30 us (s2 below three times the latency), the
//   stream (the launch) was the cause, and the whole of s1 (s2) is kept as its gap (delay); the other is taken as
//   typical. Where both are larger, the cause is a kernel of another stream that ended less than 30 us before, or one
//   that is known to be waited for. Where there is none either, the smaller of s1 and s2 is kept, and the kernel is
//   counted as unexplained. Work without a recorded launch has no s2: its cause is its stream, or a kernel of another one
//   that ended just before where s1 is larger; where there is none, s1 is kept.
// Dependencies, also those that did not bind but would on other hardware: after a cudaStreamWaitEvent the next kernel
// launched by that thread waits for what was last launched on each other stream, provided that this had ended; or,
// where the trace records who waits for whom, for just that. And the waits of the NULL stream (null_stream.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/build/device_order.hpp"

namespace distsim::replay {

/// Records at once on one stream, beyond which nothing is looked for.
inline constexpr std::uint32_t kMostLanes = 1024;

/// Work that ended this shortly before other work began may be its cause. Chosen, not fitted: between the latencies of one
/// device (a few us) and of the work that hides them (hundreds of us).
inline constexpr std::int64_t kNearNs = 30'000;
/// By which host and device clocks may be apart; ns. Chosen, not fitted.
inline constexpr std::int64_t kHostClockSlip = 20'000;

struct DeviceCause {
  std::int64_t gap_ns = 0;           ///< after the record before it on its lane
  std::int64_t launch_delay_ns = 0;  ///< after the start of its launch call
  struct After {
    std::uint32_t record = traces::kNone;
    std::int64_t delay_ns = 0;
  };
  std::vector<After> after;  ///< records of other streams
  std::uint32_t lane = 0;    ///< within its stream: 0 unless it overlaps the one before
  bool explained = true;
};

/// By device record.
std::vector<DeviceCause> infer_device_causes(const traces::TraceRank& rank, const DeviceOrder& order,
                                             std::int64_t origin_ns);

}  // namespace distsim::replay
