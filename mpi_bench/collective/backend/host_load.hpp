// Computation of a host program: a thread that streams multiply-adds over an array larger than most caches, until it is
// told to stop.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace distsim::bench {

class HostLoad {
 public:
  HostLoad() : thread_([this] { work(); }) {}
  ~HostLoad() {
    stop_.store(true);
    thread_.join();
  }
  HostLoad(const HostLoad&) = delete;
  HostLoad& operator=(const HostLoad&) = delete;

 private:
  void work() {
    constexpr std::size_t kElements = 16u << 20, kChunk = 1u << 16;
    std::vector<float> data(kElements, 1.0f);
    for (std::size_t at = 0; !stop_.load(std::memory_order_relaxed); at = (at + kChunk) % kElements) {
      for (std::size_t i = at; i < at + kChunk; ++i) data[i] = data[i] * 0.999f + 0.001f;
    }
    sink_ = data[0];
  }
  std::atomic<bool> stop_{false};
  volatile float sink_ = 0;
  std::thread thread_;
};

}  // namespace distsim::bench
