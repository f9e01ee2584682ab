#include "mpi_bench/collective/ranks/stall.hpp"

#include <gtest/gtest.h>

namespace distsim::bench {
namespace {

constexpr double kLimit = 10;

bench::RankState at(std::uint64_t meetings, std::uint64_t calls, bool waiting, double moved_at, double heard_at = 100) {
  return {.meetings = meetings,
          .calls = calls,
          .waiting = waiting,
          .activity = "x",
          .heard_at = heard_at,
          .moved_at = moved_at};
}

std::vector<int> named(const std::vector<bench::RankState>& ranks, double now = 100, double limit = kLimit) {
  const auto verdict = bench::verdict_of(ranks, now, limit);
  return verdict ? verdict->ranks : std::vector<int>{};
}

TEST(Stall, NobodyIsNamedWhileTheLastOneMoves) {
  EXPECT_EQ(named({at(5, 10, false, 95), at(5, 12, false, 50), at(6, 12, true, 50)}), std::vector<int>{});
}

TEST(Stall, WhoIsBehindAndDoesNotWaitIsNamed) {
  // Rank 1 works at meeting 5; the others have come to the end of meeting 5 and wait for it.
  EXPECT_EQ(named({at(5, 40, true, 80), at(5, 17, false, 80), at(5, 40, true, 80)}), std::vector<int>{1});
  // All inside a collective: fewest calls.
  EXPECT_EQ(named({at(5, 40, false, 80), at(5, 40, false, 80), at(5, 39, false, 80)}), std::vector<int>{2});
}

TEST(Stall, AllOfThemWhereNoneIsBehind) {
  const auto verdict = bench::verdict_of({at(5, 40, false, 80), at(5, 40, false, 80)}, 100, kLimit);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->ranks, (std::vector<int>{0, 1}));
  EXPECT_NE(verdict->why.find("inside the library"), std::string::npos);
}

TEST(Stall, ASilentRankIsNamedThoughOthersAreBehindIt) {
  EXPECT_EQ(named({at(5, 1, false, 80), at(9, 9, false, 99, 89.9)}), std::vector<int>{1});
  EXPECT_EQ(named({at(5, 1, false, 99), at(9, 9, false, 99, 90.1)}), std::vector<int>{});
}

/// It moved last shortly before it stopped: for a moment it is behind for longer than the limit, and silent for less.
TEST(Stall, ARankThatMayHaveStoppedIsNotStuck) {
  EXPECT_EQ(named({at(5, 3, true, 99), at(5, 1, false, 89.9, 90.1)}), std::vector<int>{});
  const auto verdict = bench::verdict_of({at(5, 3, true, 99), at(5, 1, false, 89.9, 90.1)}, 100.2, kLimit);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->ranks, std::vector<int>{1});
  EXPECT_TRUE(verdict->silent);
}

TEST(Stall, ADeathIsNamedAtOnceAndWithoutALimit) {
  auto ranks = std::vector{at(5, 1, false, 100), at(5, 1, false, 100)};
  ranks[1].gone = true;
  EXPECT_EQ(named(ranks), std::vector<int>{1});
  EXPECT_EQ(named(ranks, 100, 0), std::vector<int>{1});
}

TEST(Stall, WithoutALimitNobodyStalls) {
  EXPECT_EQ(named({at(5, 1, false, 0, 0), at(5, 1, false, 0, 0)}, 1e6, 0), std::vector<int>{});
}

}  // namespace
}  // namespace distsim::bench
