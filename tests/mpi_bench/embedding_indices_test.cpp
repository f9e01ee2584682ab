#include "mpi_bench/op/embedding_indices.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace distsim::bench {
namespace {

TEST(EmbeddingIndices, InRangeReproducibleAndOfTheRightCount) {
  for (double alpha : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    const bench::EmbeddingShape shape{
        .tables = 3, .batch = 50, .pooling = 4, .rows_per_table = 101, .dim = 8, .alpha = alpha};
    const auto indices = bench::embedding_indices(shape, 7);
    ASSERT_EQ(indices.size(), 600u);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t table = static_cast<std::int64_t>(i) / 200;
      EXPECT_GE(indices[i], table * 101);
      EXPECT_LT(indices[i], (table + 1) * 101);
    }
    EXPECT_EQ(indices, bench::embedding_indices(shape, 7));
    EXPECT_NE(indices, bench::embedding_indices(shape, 8));
  }
}

// alpha = 0: rank = floor(u x rows). alpha = 1: the density 1/x over [1, rows + 1): half of the draws lie below
// sqrt(rows + 1) - 1.
TEST(EmbeddingIndices, RanksByHand) {
  EXPECT_EQ(bench::skewed_rank(0.0, 100, 0), 0);
  EXPECT_EQ(bench::skewed_rank(0.505, 100, 0), 50);
  EXPECT_EQ(bench::skewed_rank(0.9999999, 100, 0), 99);
  EXPECT_EQ(bench::skewed_rank(0.5, 1'000'000, 1), 999);
  EXPECT_EQ(bench::skewed_rank(0.999999999, 100, 1.05), 99);
}

TEST(EmbeddingIndices, SkewConcentratesAndUniformDoesNot) {
  const auto share_of_top_percent = [](double alpha) {
    const bench::EmbeddingShape shape{
        .tables = 1, .batch = 20000, .pooling = 1, .rows_per_table = 10000, .dim = 8, .alpha = alpha};
    std::map<std::int64_t, int> counts;
    for (std::int64_t index : bench::embedding_indices(shape, 3)) ++counts[index];
    std::multiset<int, std::greater<>> sorted;
    for (const auto& [index, count] : counts) sorted.insert(count);
    int top = 0, taken = 0;
    for (int count : sorted)
      if (taken++ < 100) top += count;
    return top / 20000.0;
  };
  EXPECT_LT(share_of_top_percent(0), 0.05);
  EXPECT_GT(share_of_top_percent(1.05), 0.45);  // ln(101) / ln(10001) = 0.50 at alpha = 1
}

TEST(EmbeddingIndices, PopularRowsAreNotNeighbours) {
  const bench::EmbeddingShape shape{
      .tables = 1, .batch = 1000, .pooling = 1, .rows_per_table = 1 << 20, .dim = 8, .alpha = 3};
  std::map<std::int64_t, int> counts;
  for (std::int64_t index : bench::embedding_indices(shape, 3)) ++counts[index];
  std::vector<std::int64_t> popular;
  for (const auto& [index, count] : counts)
    if (count > 20) popular.push_back(index);
  ASSERT_GE(popular.size(), 2u);
  for (std::size_t i = 1; i < popular.size(); ++i) EXPECT_GT(popular[i] - popular[i - 1], 1000);
}

}  // namespace
}  // namespace distsim::bench
