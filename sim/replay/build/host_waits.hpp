// What a runtime call waited for on the device.
//
//   device synchronize            the last kernel launched before on every stream
//   stream, event synchronize     the stream, where the trace says which; else the kernel launched before that ended
//   last during the call copy that blocks              its own copy, where that ended before the call did free,
//   allocate                as for a stream, where the call ended soon after the kernel did (cudaFree waits for the
//   device)
//   launch, asynchronous copy     room in a full queue of launches (launch_queue.hpp)
// The call's own time is what it took after that end.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/build/device_order.hpp"
#include "sim/replay/build/launch_queue.hpp"

namespace distsim::replay {

struct HostWait {
  std::vector<std::uint32_t> records;  ///< device records that have to end; empty: it waits for nothing
  std::int64_t own_ns = 0;
  enum class For : std::uint8_t {
    end,
    room,
    unseen_room
  };  ///< unseen: no end of a kernel fits, all is the call's own time
  For reason = For::end;
  std::int64_t delay_ns = 0;  ///< from the end of the record that made room to when the call went on
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
  HostWait room(std::uint32_t call) const;
  bool binds(std::uint32_t call, std::uint32_t record) const;

  const traces::TraceRank& rank_;
  const DeviceOrder& order_;
  const LaunchQueue queue_;
  std::vector<std::uint32_t> first_launched_;  ///< by host record: the first device record it launched
  std::vector<std::uint32_t> sync_of_call_;    ///< by host record: index into TraceRank::syncs
};

}  // namespace distsim::replay
