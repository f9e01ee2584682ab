#include "base/system/stop.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace distsim {
namespace {

TEST(Stop, NobodyIsStoppedWithoutAFlag) {
  EXPECT_FALSE(stop_asked());
  end_if_stopped();
}

TEST(Stop, EndsWorkOfItsThreadAlone) {
  std::atomic<bool> flag{false};
  const Stoppable stoppable(flag);
  end_if_stopped();
  flag = true;
  EXPECT_TRUE(stop_asked());
  EXPECT_THROW(end_if_stopped(), Stopped);
  bool other = true;
  std::thread([&] { other = stop_asked(); }).join();
  EXPECT_FALSE(other);
}

TEST(Stop, TheInnermostCounts) {
  std::atomic<bool> outer{true}, inner{false};
  const Stoppable first(outer);
  {
    const Stoppable second(inner);
    EXPECT_FALSE(stop_asked());
  }
  EXPECT_TRUE(stop_asked());
}

/// Started by another thread, work ends soon after it is asked to.
TEST(Stop, ALoopEnds) {
  std::atomic<bool> flag{false}, ended{false};
  std::thread worker([&] {
    const Stoppable stoppable(flag);
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
