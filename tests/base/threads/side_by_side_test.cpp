#include "base/threads/side_by_side.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/threads/stop.hpp"

namespace distsim {
namespace {

TEST(SideBySide, AllWorkIsDoneOnce) {
  for (const unsigned threads : {0u, 1u, 2u, 16u}) {
    std::atomic<int> next{0}, done{0};
    side_by_side(threads, [&] {
      while (next++ < 1000) ++done;
    });
    EXPECT_EQ(done, 1000) << threads;
  }
}

/// On whichever thread it is thrown; the others end first.
TEST(SideBySide, WhatIsThrownIsThrownHere) {
  const std::thread::id here = std::this_thread::get_id();
  for (const bool on_this : {true, false}) {
    std::atomic<int> began{0}, ended{0};
    const auto work = [&] {
      ++began;
      while (began < 3) std::this_thread::yield();
      if ((std::this_thread::get_id() == here) == on_this) throw std::runtime_error("no more");
      ++ended;
    };
    EXPECT_THROW(side_by_side(3, work), std::runtime_error);
    EXPECT_EQ(ended, on_this ? 2 : 1);
  }
}

TEST(SideBySide, AllAreAskedToStop) {
  const std::atomic<bool> flag{true};
  const StopScope scope(flag);
  std::atomic<int> asked{0};
  // The thread that has the flag looks at it, the others hear of it once it has.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  side_by_side(4, [&] {
    while (!stop_asked() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    asked += stop_asked() ? 1 : 0;
  });
  EXPECT_EQ(asked, 4);
}

}  // namespace
}  // namespace distsim
