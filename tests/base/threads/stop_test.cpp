#include "base/threads/stop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/system/signals.hpp"

namespace distsim {
namespace {

bool soon() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (stop_asked()) return true;
  }
  return false;
}

TEST(Stop, NobodyAsks) {
  EXPECT_FALSE(stop_asked());
  const StopScope nothing{std::function<bool()>()};
  EXPECT_FALSE(stop_asked());
  end_if_stopped();
  EXPECT_EQ(stop_question(), nullptr);
}

TEST(Stop, OnceItIsSaidItStays) {
  {
    int asked = 0;
    const StopScope scope([&] { return ++asked == 3; });
    EXPECT_TRUE(soon());
    EXPECT_TRUE(stop_asked());
    EXPECT_TRUE(end_asked());
    EXPECT_EQ(asked, 3);
  }
  EXPECT_FALSE(stop_asked());
  EXPECT_FALSE(end_asked());
}

TEST(Stop, EndsWorkOfItsThreadAlone) {
  const StopScope scope([] { return true; });
  EXPECT_THROW(end_if_stopped(), Stopped);
  bool other = true;
  std::thread([&] { other = stop_asked(); }).join();
  EXPECT_FALSE(other);
}

TEST(Stop, ThrowsWhatItsScopeThrows) {
  const StopScope scope([] { return true; }, [] { throw std::runtime_error("given up"); });
  EXPECT_THROW(end_if_stopped(), std::runtime_error);
}

TEST(Stop, ThreadsThatShareItKnowAndDoNotThrow) {
  const StopScope scope([] { return true; });
  EXPECT_TRUE(stop_asked());
  std::thread([question = stop_question()] {
    const StopScope shared(question);
    EXPECT_TRUE(stop_asked());
    EXPECT_NO_THROW(end_if_stopped());
  }).join();
}

TEST(Stop, AHelperDoesNotAsk) {
  int asked = 0;
  const StopScope scope([&] { return ++asked > 0; });
  std::thread([question = stop_question()] {
    const StopScope shared(question);
    EXPECT_FALSE(stop_asked());
  }).join();
  EXPECT_EQ(asked, 0);
}

TEST(Stop, TheInnermostCounts) {
  const StopScope outer([] { return true; });
  EXPECT_TRUE(stop_asked());
  {
    const StopScope inner([] { return false; });
    EXPECT_FALSE(stop_asked());
  }
  EXPECT_TRUE(stop_asked());
}

/// Started by another thread, work ends soon after it is asked to.
TEST(Stop, ALoopEnds) {
  std::atomic<bool> flag{false}, ended{false};
  std::thread worker([&] {
    const StopScope scope(flag);
    try {
      for (;;) end_if_stopped();
    } catch (const Stopped&) {
      ended = true;
    }
  });
  flag = true;
  worker.join();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace distsim
