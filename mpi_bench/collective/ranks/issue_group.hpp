// GPUs of one process that one thread drives (-g): each has a thread of its own for everything but the calls to the
// library, which whoever comes last makes for all of them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace distsim::bench {

class IssueGroup {
 public:
  /// What one lane brings along. Parts are worked on in the order of `lane`.
  struct Part {
    int lane = 0;
  };
  using Work = std::function<void(std::span<Part* const>)>;

  /// How many parts meet from now on. To be said while no lane is inside together().
  void expect(int parts) {
    const std::lock_guard lock(mutex_);
    expected_ = parts;
  }

  /// Waits for all parts, of which the last runs `work` for all of them, and returns once it is done.
  void together(Part& part, const Work& work);

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<Part*> parts_;
  std::uint64_t round_ = 0;
  int expected_ = 1;
};

inline void IssueGroup::together(Part& part, const Work& work) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  parts_.push_back(&part);
  if (static_cast<int>(parts_.size()) < expected_) {
    done_.wait(lock, [&] { return round_ != round; });
    return;
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part* a, const Part* b) { return a->lane < b->lane; });
  work(parts_);  // under the lock: nobody else has anything to do
  parts_.clear();
  ++round_;
  done_.notify_all();
}

}  // namespace distsim::bench
