// Load on a GPU that runs concurrently with the timed collectives: matrix products, or all_reduces on a communicator of
// their own; from a thread, on a stream of its own, until it is told to stop.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/result.hpp"

namespace distsim::bench {

class GpuLoad {
 public:
  /// `bytes` 0: products of fp32 matrices of 4096; else all_reduces of that size over `comm`, whose first element
  /// carries each rank's wish to stop, so that all ranks stop after the same call.
  static Result<std::unique_ptr<GpuLoad>> start(int device, ncclComm_t comm, std::uint64_t bytes);
  ~GpuLoad() { (void)stop(); }
  Result<void> stop();

 private:
  GpuLoad() = default;
  Result<void> reduce(int device, ncclComm_t comm, std::uint64_t bytes);
  Result<void> multiply(int device);

  std::atomic<bool> stop_{false};
  Result<void> outcome_;
  std::thread thread_;
};

}  // namespace distsim::bench
