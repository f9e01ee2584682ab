// Ends the job when a rank has died or makes no progress, and reports which one. Every rank reports its progress to
// rank 0 a few times a second, over a connection of its own and from a thread of its own, so that it works while the
// main thread is inside a collective that never returns.
#pragma once

#include <memory>
#include <string>

#include "mpi_bench/collective/ranks/ranks.hpp"

namespace distsim::bench {

class Watchdog {
 public:
  /// All processes together, each of `lanes` ranks. `limit_s` 0: only deaths are noticed, not stalls. Processes that
  /// cannot reach the first watch only themselves, with a warning.
  static std::unique_ptr<Watchdog> start(const ProcessRanks& ranks, double limit_s, int lanes);
  ~Watchdog();  ///< a farewell: connections that end from now on mean nothing
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What this rank does from now on, for the message: "all_reduce of 1024 bytes".
  void doing(const std::string& activity);

 private:
  struct Impl;
  explicit Watchdog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

inline constexpr int kStalledExit = 3;

}  // namespace distsim::bench
