#include "mpi_bench/op/repetition.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace distsim::bench {
namespace {

TEST(Repetition, QuietSamplesStopAtTheMinimum) {
  int calls = 0;
  const auto r = bench::repeat({.relative_error = 0.01, .min_repetitions = 12}, 1, [&]() -> Result<double> {
    ++calls;
    return 1e-6;
  });
  EXPECT_EQ(calls, 12);
  EXPECT_TRUE(r->reached);
  EXPECT_DOUBLE_EQ(r->seconds.median, 1e-6);
}

TEST(Repetition, NoisySamplesGoOnUntilTheErrorIsMet) {
  Random random(1);
  const auto r = bench::repeat({.relative_error = 0.02, .min_repetitions = 10, .max_repetitions = 100000}, 1,
                               [&]() -> Result<double> { return 1e-6 * (0.5 + random.uniform()); });
  EXPECT_TRUE(r->reached);
  EXPECT_LE(r->relative_error, 0.02);
  EXPECT_GT(r->seconds.count, 100u);  // MAD 0.25 of the median: 1.86 x 0.25 / sqrt(n) <= 0.02 needs n of about 540
  EXPECT_NEAR(r->seconds.median, 1e-6, 0.1e-6);
}

TEST(Repetition, LimitsEndWhatNeverSettles) {
  Random random(2);
  const auto noisy = [&]() -> Result<double> { return 1e-3 * (0.01 + random.uniform()); };
  const auto by_count = bench::repeat({.relative_error = 1e-6, .max_repetitions = 50}, 1, noisy);
  EXPECT_EQ(by_count->seconds.count, 50u);
  EXPECT_FALSE(by_count->reached);
  const auto by_time = bench::repeat(
      {.relative_error = 1e-6, .min_repetitions = 10, .max_repetitions = 100000, .max_seconds = 0.5}, 10, noisy);
  EXPECT_LT(by_time->seconds.count, 200u);  // 5 ms a sample of ten launches
  EXPECT_GE(by_time->seconds.count, 10u);
}

TEST(Repetition, AFailureIsPassedOn) {
  const auto r = bench::repeat({}, 1, []() -> Result<double> { return Error{"broken", "", ""}; });
  EXPECT_EQ(r.error().what, "broken");
}

}  // namespace
}  // namespace distsim::bench
