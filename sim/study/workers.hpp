// Many independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <vector>

#include "base/system/memory.hpp"
#include "base/system/signals.hpp"
#include "base/threads/side_by_side.hpp"

namespace distsim::study {

/// Calls work(0) .. work(count - 1), each once, on at most `jobs` threads; on_done() after each, one at a time. Where a
/// thread cannot be started, those that run do the work. Where memory runs out, a thread gives up, and what it was at is
/// done again at the end, alone. Returns what was not done, in order: for which memory does not suffice even so, or that a
/// signal cut short or left out, which asked for an early end (base/system/signals.hpp). Other exceptions leave, when all threads are done.
template <class Work, class OnDone>
[[nodiscard]] std::vector<std::size_t> for_each_index(std::size_t count, unsigned jobs, const Work& work,
                                                      const OnDone& on_done) {
  std::atomic<std::size_t> next{0};
  std::mutex reporting;
  std::exception_ptr failure;
  std::vector<char> done(count, 0);
  const auto try_one = [&](std::size_t i) {
    try {
      if (!unless_signalled([&] { work(i); })) return false;
      done[i] = 1;
    } catch (const std::bad_alloc&) {
      return false;
    } catch (...) {
      const std::lock_guard lock(reporting);
      if (!failure) failure = std::current_exception();
      return false;
    }
    try {
      const std::lock_guard lock(reporting);
      on_done();
    } catch (const std::bad_alloc&) {  // what it would have shown is all that is lost
    }
    return true;
  };
  const auto take = [&] {
    for (std::size_t i = next++; i < count && !end_asked(); i = next++) {
      if (!try_one(i)) return;
    }
  };
  side_by_side(static_cast<unsigned>(std::min<std::size_t>(jobs, count)), take);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < count && !failure; ++i) {
    if (!done[i] && (end_asked() || !try_one(i))) left.push_back(i);
  }
  if (failure) std::rethrow_exception(failure);
  return left;
}

/// Why a piece is left, for its row.
inline const char* why_left() { return end_asked() ? "interrupted" : kMemoryRanOut; }

}  // namespace distsim::study
