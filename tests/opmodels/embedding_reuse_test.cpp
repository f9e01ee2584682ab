#include "opmodels/hardware/embedding_reuse.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace distsim::opmodels {
namespace {

/// The sums as they are defined, row by row.
struct Direct {
  std::vector<double> p;
  Direct(int rows, double alpha) {
    double total = 0;
    for (int i = 1; i <= rows; ++i) total += std::pow(i, -alpha);
    for (int i = 1; i <= rows; ++i) p.push_back(std::pow(i, -alpha) / total);
  }
  double distinct(double draws) const {
    double sum = 0;
    for (const double q : p) sum += 1 - std::pow(1 - q, draws);
    return sum;
  }
  double top(int rows) const {
    double sum = 0;
    for (int i = 0; i < rows; ++i) sum += p[static_cast<std::size_t>(i)];
    return sum;
  }
};

TEST(RowPopularity, UniformOnPaper) {
  // 2 rows, 3 draws: each row is missed with (1/2)^3, so 2 (1 - 1/8) = 1.75 rows are touched.
  EXPECT_NEAR(RowPopularity(2, 0).distinct(3), 1.75, 1e-12);
  EXPECT_NEAR(RowPopularity(1, 0).distinct(3), 1.0, 1e-12);
  EXPECT_NEAR(RowPopularity(1e9, 0).distinct(1000), 1000, 0.001) << "hardly a row twice in a large table";
  EXPECT_EQ(RowPopularity(100, 0).distinct(0), 0);
}

TEST(RowPopularity, SkewedSumsAgreeWithTheDefinition) {
  for (const double alpha : {0.5, 0.9, 1.0, 1.05, 1.5, 2.5}) {
    for (const int rows : {10, 1000, 100000}) {
      const Direct direct(rows, alpha);
      const RowPopularity popularity(rows, alpha);
      for (const double draws : {10.0, 1000.0, 65536.0}) {
        EXPECT_NEAR(popularity.distinct(draws) / direct.distinct(draws), 1, 0.02)
            << "alpha " << alpha << " rows " << rows << " draws " << draws;
      }
      EXPECT_NEAR(popularity.share_of_top(rows / 10), direct.top(rows / 10), 0.02) << alpha << " " << rows;
    }
  }
}

TEST(RowPopularity, HitRateFormulaOnPaper) {
  // 1000 rows, 4000 draws, room for 100: all rows touched (982), so (N - X) P_X / N = 3900 * 0.1 / 4000.
  EXPECT_NEAR(RowPopularity(1000, 0).hit_rate(4000, 100), 0.0975, 1e-12);
  // Room for everything: only the first touch of a row misses.
  const RowPopularity small(100, 0);
  EXPECT_NEAR(small.hit_rate(1000, 200), 1 - small.distinct(1000) / 1000, 1e-12);
}

TEST(RowPopularity, SkewRaisesHitsAndLowersDistinctRows) {
  double distinct = 1e18, hits = -1;
  for (const double alpha : {0.0, 0.4, 0.8, 1.2, 1.6}) {
    const RowPopularity popularity(1e6, alpha);
    EXPECT_LT(popularity.distinct(65536), distinct) << alpha;
    EXPECT_GT(popularity.hit_rate(65536, 10000), hits) << alpha;
    distinct = popularity.distinct(65536);
    hits = popularity.hit_rate(65536, 10000);
  }
}

TEST(RowPopularity, StaysWithinBoundsFarOut) {
  for (const double rows : {1.0, 2.0, 1e3, 1e15}) {
    for (const double alpha : {0.0, 1.0, 4.0}) {
      for (const double draws : {0.25, 1.0, 1e6, 1e15}) {
        const RowPopularity popularity(rows, alpha);
        const double distinct = popularity.distinct(draws), hits = popularity.hit_rate(draws, 1e4);
        EXPECT_TRUE(distinct > 0 && distinct <= rows * 1.000001 && distinct <= draws * 1.000001)
            << rows << " " << alpha << " " << draws << ": " << distinct;
        EXPECT_TRUE(hits >= 0 && hits <= 1) << hits;
      }
    }
  }
}

}  // namespace
}  // namespace distsim::opmodels
