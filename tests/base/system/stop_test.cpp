#include "base/system/stop.hpp"

#include <gtest/gtest.h>

#include <chrono>
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

TEST(Stop, IsOfOneThreadAndOfThoseThatShareIt) {
  const StopScope scope([] { return true; });
  EXPECT_TRUE(soon());
  std::thread([] { EXPECT_FALSE(stop_asked()); }).join();
  std::thread([question = stop_question()] {
    const StopScope shared(question);
    EXPECT_TRUE(stop_asked());
  }).join();
}

TEST(Stop, AHelperDoesNotAsk) {
  int asked = 0;
  const StopScope scope([&] { return ++asked > 0; });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::thread([question = stop_question()] {
    const StopScope shared(question);
    EXPECT_FALSE(stop_asked());
  }).join();
  EXPECT_EQ(asked, 0);
}

TEST(Stop, AnInnerScopeHidesTheOuterOne) {
  const StopScope outer([] { return true; });
  EXPECT_TRUE(soon());
  {
    const StopScope inner([] { return false; });
    EXPECT_FALSE(stop_asked());
  }
  EXPECT_TRUE(stop_asked());
}

}  // namespace
}  // namespace distsim
