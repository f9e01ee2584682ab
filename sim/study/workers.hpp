// Many independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace distsim::study {

/// Calls work(0) .. work(count - 1), each once, on at most `jobs` threads; on_done() after each, one at a time. Where a
/// thread cannot be started, those that run do the work.
template <class Work, class OnDone>
void for_each_index(std::size_t count, unsigned jobs, const Work& work, const OnDone& on_done) {
  std::atomic<std::size_t> next{0};
  std::mutex reporting;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
      const std::lock_guard lock(reporting);
      on_done();
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (std::size_t t = 1; t < std::min<std::size_t>(jobs, count); ++t) threads.emplace_back(take);
  } catch (const std::system_error&) {  // fewer threads
  }
  take();
}

}  // namespace distsim::study
