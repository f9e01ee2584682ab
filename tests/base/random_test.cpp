#include "base/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim {
namespace {

// Quantiles of the standard normal distribution from printed tables.
TEST(Normal, QuantilesOfTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normal_quantile(0.9), 1.281551566, 1e-8);
  EXPECT_NEAR(normal_quantile(0.01), -2.326347874, 1e-8);
  EXPECT_NEAR(normal_quantile(1e-9), -5.997807015, 1e-7);
}

TEST(Normal, QuantileIsOdd) {
  for (const double p : {1e-12, 1e-3, 0.2, 0.49})
    EXPECT_NEAR(normal_quantile(p), -normal_quantile(1 - p), 1e-4 * std::abs(normal_quantile(p)));
}

// Exact order statistics (Harter 1961): 0.5642 of 2, 1.4236 of 8, 1.8675 of 20, 2.5076 of 100.
TEST(Normal, ExpectedLargest) {
  EXPECT_EQ(expected_largest_of(1), 0);
  EXPECT_NEAR(expected_largest_of(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_largest_of(8), 1.4236, 0.03);
  EXPECT_NEAR(expected_largest_of(20), 1.8675, 0.03);
  EXPECT_NEAR(expected_largest_of(100), 2.5076, 0.03);
}

TEST(Normal, DrawsHaveTheMomentsAndDependOnTheSeed) {
  NormalDraws draws(7), again(7), other(8);
  double sum = 0, squares = 0;
  constexpr int n = 20'000;
  for (int i = 0; i < n; ++i) {
    const double z = draws.next();
    ASSERT_EQ(z, again.next());
    ASSERT_NE(z, other.next());
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));  // four standard errors
  EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2.0 / n));
}

}  // namespace
}  // namespace distsim
