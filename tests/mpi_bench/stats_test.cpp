#include "mpi_bench/common/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim::bench {
namespace {

// Sorted: 1 2 3 4 100. Median 3; |x - 3| = 2 1 0 1 97, whose median is 1. Position of p5 is 0.05 x 4 = 0.2: 1 + 0.2
// x 1. Of p90 3.6: 4 + 0.6 x 96.
TEST(Stats, SummaryOfFiveSamplesByHand) {
  const bench::Summary s = bench::summarize({4, 100, 1, 3, 2});
  EXPECT_EQ(s.count, 5u);
  EXPECT_DOUBLE_EQ(s.mean, 22);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.mad, 1);
  EXPECT_DOUBLE_EQ(s.p5, 1.2);
  EXPECT_DOUBLE_EQ(s.p10, 1.4);
  EXPECT_DOUBLE_EQ(s.p90, 61.6);
  EXPECT_DOUBLE_EQ(s.p95, 80.8);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 100);
}

TEST(Stats, EvenCountTakesTheMiddleOfTwo) {
  const bench::Summary s = bench::summarize({1, 2, 5, 10});
  EXPECT_DOUBLE_EQ(s.median, 3.5);
  EXPECT_DOUBLE_EQ(s.mad, 2);  // deviations 1.5 1.5 2.5 6.5
}

TEST(Stats, OneSampleHasNoKnownError) {
  const bench::Summary s = bench::summarize({7});
  EXPECT_DOUBLE_EQ(s.median, 7);
  EXPECT_DOUBLE_EQ(s.p95, 7);
  EXPECT_TRUE(std::isinf(bench::relative_error_of_median(s)));
}

// 1.2533 x 1.4826 x 1 / sqrt(4) / 10 = 0.0929...
TEST(Stats, RelativeErrorFallsWithTheRootOfTheCount) {
  bench::Summary s;
  s.count = 4;
  s.median = 10;
  s.mad = 1;
  EXPECT_NEAR(bench::relative_error_of_median(s), 1.2533 * 1.4826 / 20, 1e-12);
  s.count = 400;
  EXPECT_NEAR(bench::relative_error_of_median(s), 1.2533 * 1.4826 / 200, 1e-12);
}

TEST(StatsDeathTest, NoSamplesAndNanAreOurOwnMistakes) {
  EXPECT_DEATH(bench::summarize({}), "CHECK|empty");
  EXPECT_DEATH(bench::summarize({1, std::nan("")}), "isfinite");
}

}  // namespace
}  // namespace distsim::bench
