// Waits that CUDA itself puts between streams, without an event: work of the NULL stream starts when all work launched
// before it on the blocking streams of its context has ended, and work launched after it on those streams waits for it.
// Only for streams whose kind the trace records (Nsight Systems and nvprof: TraceStream::kind).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/build/device_order.hpp"

namespace distsim::replay {

struct StreamWait {
  std::uint32_t waiter = 0, on = 0;  ///< device records of two streams of one context
};

/// Those that follow from no other of them and the order on each stream: at most two for each record. In order of
/// launches. Records whose launch was not recorded wait for nothing.
std::vector<StreamWait> null_stream_waits(const traces::TraceRank& rank, const DeviceOrder& order);

}  // namespace distsim::replay
