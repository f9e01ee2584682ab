#include "mpi_bench/common/alpha_beta.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim::bench {
namespace {

TEST(AlphaBeta, FindsTheLineThatMadeThePoints) {
  std::vector<bench::SizeTime> points;
  for (double bytes = 8; bytes <= 1 << 26; bytes *= 4) points.push_back({bytes, 200e-6 + bytes / 1.25e9});
  const auto fit = bench::fit_alpha_beta(points);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->alpha_s, 200e-6, 1e-12);
  EXPECT_NEAR(fit->beta_bytes_per_s, 1.25e9, 1);
  EXPECT_LT(fit->worst, 1e-9);
}

TEST(AlphaBeta, RelativeErrorsCountAlike) {
  // The same 5 % on a short and on a long message.
  const auto fit =
      bench::fit_alpha_beta(std::vector<bench::SizeTime>{{8, 105e-6}, {8, 95e-6}, {1e9, 1.05}, {1e9, 0.95}});
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->alpha_s, 100e-6, 1e-6);
  EXPECT_NEAR(fit->beta_bytes_per_s, 1e9, 1e7);
}

// One size that was disturbed, and noise of 2 % on all: both figures stay within 3 %.
TEST(AlphaBeta, ADisturbedSizeDoesNotBendTheLine) {
  for (const int disturbed : {0, 5, 11}) {
    std::vector<bench::SizeTime> points;
    for (int i = 0; i < 12; ++i) {
      const double bytes = 8 * std::exp2(1.6 * i), noise = 1 + 0.02 * std::sin(7.0 * i);
      points.push_back({bytes, (100e-6 + bytes / 1e9) * noise * (i == disturbed ? 2.5 : 1)});
    }
    const auto fit = bench::fit_alpha_beta(points);
    ASSERT_TRUE(fit.ok());
    EXPECT_NEAR(fit->alpha_s, 100e-6, 3e-6) << disturbed;
    EXPECT_NEAR(fit->beta_bytes_per_s, 1e9, disturbed == 11 ? 0.2e9 : 0.05e9) << disturbed;
    EXPECT_GT(fit->worst, 0.5) << "it is named, not hidden";
  }
}

TEST(AlphaBeta, SaysWhichFigureTheSizesTell) {
  const auto both = bench::fit_alpha_beta(std::vector<bench::SizeTime>{{8, 1e-4}, {1e7, 1e-2}});
  EXPECT_GT(both->bytes_share, 0.9);
  EXPECT_GT(both->latency_share, 0.9);
  const auto latency = bench::fit_alpha_beta(std::vector<bench::SizeTime>{{8, 1e-4}, {1e4, 1.1e-4}});
  EXPECT_LT(latency->bytes_share, 0.5);
  const auto bytes = bench::fit_alpha_beta(std::vector<bench::SizeTime>{{1e6, 1.1e-3}, {1e8, 0.1001}});
  EXPECT_LT(bytes->latency_share, 0.5);
}

TEST(AlphaBeta, NeverNegative) {
  const auto proportional = bench::fit_alpha_beta(std::vector<bench::SizeTime>{{100, 1e-6}, {1000, 20e-6}});
  ASSERT_TRUE(proportional.ok());
  EXPECT_EQ(proportional->alpha_s, 0);
  const auto falling = bench::fit_alpha_beta(std::vector<bench::SizeTime>{{100, 2e-6}, {1000, 1e-6}});
  ASSERT_TRUE(falling.ok());
  EXPECT_TRUE(std::isinf(falling->beta_bytes_per_s));
  EXPECT_GT(falling->alpha_s, 0);
}

TEST(AlphaBeta, OneSizeIsNoLine) {
  EXPECT_FALSE(bench::fit_alpha_beta({}).ok());
  EXPECT_FALSE(bench::fit_alpha_beta(std::vector<bench::SizeTime>{{8, 1e-6}, {8, 2e-6}, {16, 0}}).ok());
}

}  // namespace
}  // namespace distsim::bench
