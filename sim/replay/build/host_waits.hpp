// What a runtime call waited for on the device.
//
//   device synchronize            the last kernel launched before on every stream
//   stream, event synchronize     the stream, where the trace says which; else the kernel launched before that ended
//   last during the call copy that blocks              its own copy, where that ended before the call did free,
//   allocate                as for a stream, where the call ended soon after the kernel did (cudaFree waits for the
//   device)
// The call's own time is what it took after that end.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/build/device_order.hpp"

namespace distsim::replay {

struct HostWait {
  std::vector<std::uint32_t> records;  ///< device records that have to end; empty: it waits for nothing
  std::int64_t own_ns = 0;
};

class HostWaits {
 public:
  HostWaits(const traces::TraceRank& rank, const DeviceOrder& order);
  HostWait of(std::uint32_t call) const;

 private:
  HostWait after(std::uint32_t call, std::vector<std::uint32_t> records) const;
  HostWait latest_end(std::uint32_t call, bool last_of_stream) const;
  HostWait device(std::uint32_t call) const;
  HostWait stream(std::uint32_t call) const;
  HostWait copy(std::uint32_t call) const;
  HostWait memory(std::uint32_t call) const;
  bool binds(std::uint32_t call, std::uint32_t record) const;

  const traces::TraceRank& rank_;
  const DeviceOrder& order_;
  std::vector<std::uint32_t> first_launched_;  ///< by host record: the first device record it launched
  std::vector<std::uint32_t> sync_of_call_;    ///< by host record: index into TraceRank::syncs
};

}  // namespace distsim::replay
