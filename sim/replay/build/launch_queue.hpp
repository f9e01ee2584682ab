// Calls that blocked because the queue of launches was full.
//
// CUDA takes about 1024 launches ahead of the device. The next call that would put one more in (a kernel, a graph, an
// asynchronous copy or set, an event) returns only when the device has begun one of those: where a host runs that far ahead,
// what its calls last is the pace of the device and no work of the host.
//
//   outstanding   calls made before on the device whose work has not begun; of an event, while the launch before it on its
//                 thread has not. Work of a stream that began before the first with a recorded launch counts as launched
//                 before the trace
//   usual         the median of the calls of that kind on that thread with the queue less than half full; where there is none,
//                 the tenth of all that are shorter take at most that
//
// A call that lasts more than twice the usual with 768 or more outstanding, and as many as the trace ever shows but for a
// twentieth (a queue that takes more is not full), costs the usual time, after the end of the last kernel or copy that
// ended within the call (20 us before it at most, as clocks differ) and the usual time or more before its end, but no more
// than 30 us before that: the next one began there.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/replay/build/device_order.hpp"

namespace distsim::replay {

class LaunchQueue {
 public:
  LaunchQueue(const traces::TraceRank& rank, const DeviceOrder& order);

  /// True for a call that lasts longer than usual with a full queue.
  bool is_full_at(std::uint32_t call) const;
  /// What calls of this kind cost on this thread; ns, at most what the call took.
  std::int64_t usual_ns(std::uint32_t call) const;
  /// The device record that made room for the call, or kNone where none ended within it.
  std::uint32_t made_room(std::uint32_t call) const;

 private:
  struct Entries {
    std::vector<std::int64_t> called, begun;  ///< each sorted; ns
    std::size_t most = 0;                     ///< outstanding at a call
  };
  using Kind = std::pair<std::uint32_t, traces::RuntimeCall>;  ///< thread, call

  void find_entries();
  void find_usual();
  std::size_t outstanding(std::uint32_t call) const;

  const traces::TraceRank& rank_;
  const DeviceOrder& order_;
  std::map<std::uint32_t, Entries> by_device_;
  std::vector<std::uint32_t> device_of_;  ///< by host record: the device whose queue it goes into, or kNone
  std::map<Kind, std::int64_t> usual_;
};

}  // namespace distsim::replay
