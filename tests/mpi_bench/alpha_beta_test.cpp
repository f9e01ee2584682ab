#include "mpi_bench/collective/alpha_beta.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim::bench {
namespace {

TEST(AlphaBeta, FindsTheLineThatMadeThePoints) {
  std::vector<SizeTime> points;
  for (double bytes = 8; bytes <= 1 << 26; bytes *= 4) points.push_back({bytes, 200e-6 + bytes / 1.25e9});
  const auto fit = fit_alpha_beta(points);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->alpha_s, 200e-6, 1e-12);
  EXPECT_NEAR(fit->beta_bytes_per_s, 1.25e9, 1);
  EXPECT_LT(fit->worst, 1e-9);
}

TEST(AlphaBeta, RelativeErrorsCountAlike) {
  // The same 5 % on a short and on a long message.
  const auto fit = fit_alpha_beta(std::vector<SizeTime>{{8, 105e-6}, {8, 95e-6}, {1e9, 1.05}, {1e9, 0.95}});
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->alpha_s, 100e-6, 1e-6);
  EXPECT_NEAR(fit->beta_bytes_per_s, 1e9, 1e7);
}

TEST(AlphaBeta, NeverNegative) {
  const auto proportional = fit_alpha_beta(std::vector<SizeTime>{{100, 1e-6}, {1000, 20e-6}});
  ASSERT_TRUE(proportional.ok());
  EXPECT_EQ(proportional->alpha_s, 0);
  const auto falling = fit_alpha_beta(std::vector<SizeTime>{{100, 2e-6}, {1000, 1e-6}});
  ASSERT_TRUE(falling.ok());
  EXPECT_TRUE(std::isinf(falling->beta_bytes_per_s));
  EXPECT_GT(falling->alpha_s, 0);
}

TEST(AlphaBeta, OneSizeIsNoLine) {
  EXPECT_FALSE(fit_alpha_beta({}).ok());
  EXPECT_FALSE(fit_alpha_beta(std::vector<SizeTime>{{8, 1e-6}, {8, 2e-6}, {16, 0}}).ok());
}

}  // namespace
}  // namespace distsim::bench
