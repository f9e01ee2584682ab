// What this process is doing right now, for a watchdog in another thread to read. Nothing here takes a lock or more
// than a store, so it can be called inside a timed loop; where several threads are ranks, a count may be lost, which
// matters not: that it moves is what is looked at.
#pragma once

#include <atomic>
#include <cstdint>

namespace distsim::bench {

struct Pulse {
  std::atomic<std::uint64_t> meetings{0};  ///< talks between all ranks that this one has finished
  std::atomic<std::uint64_t> calls{0};     ///< samples of collectives that this rank has finished
  std::atomic<bool> waiting{false};        ///< inside such a talk: waiting for the others
  std::atomic<bool> saved{false};          ///< files hold what was measured so far

  void call_done() { calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
};

inline Pulse& pulse() {
  static constinit Pulse one;
  return one;
}

/// Marks a talk between all ranks from construction to destruction.
class Meeting {
 public:
  Meeting() { pulse().waiting.store(true, std::memory_order_relaxed); }
  ~Meeting() {
    pulse().meetings.store(pulse().meetings.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    pulse().waiting.store(false, std::memory_order_relaxed);
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
};

}  // namespace distsim::bench
