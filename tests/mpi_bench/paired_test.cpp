#include "mpi_bench/common/paired.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace distsim::bench {
namespace {

/// Turns of which a part is interrupted, in blocks of which a part is slow as a whole.
std::vector<bench::PairedBlock> blocks_of(double ratio, int count, double interrupted, double slow, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<bench::PairedBlock> blocks;
  for (int b = 0; b < count; ++b) {
    bench::PairedBlock block;
    const double pace = uniform(random) < slow ? 1 + 3 * uniform(random) : 1;
    for (int turn = 0; turn < 64; ++turn) {
      for (auto* way : {&block.first, &block.second}) {
        const double own = way == &block.first ? ratio : 1, noise = 1 + 0.01 * uniform(random);
        const double drift = pace > 1 ? 1 + 0.2 * uniform(random) : 1;
        way->push_back(1e-3 * own * noise * drift * pace +
                       (uniform(random) < interrupted ? 4e-3 * uniform(random) : 0));
      }
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TEST(Paired, FindsASmallDifferenceOnABusyMachine) {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u}) {
    for (const double ratio : {1.0, 1.005, 1.02}) {
      const bench::PairedRatio found = bench::paired_ratio(blocks_of(ratio, 18, 0.6, 0.4, seed));
      EXPECT_NEAR(found.ratio, ratio, 0.003) << seed;
      EXPECT_LT(found.error, 0.003);
      EXPECT_NEAR(found.second, 1e-3, 0.05e-3);
    }
  }
}

TEST(Paired, FewBlocksAreNoCertainty) {
  EXPECT_TRUE(std::isinf(bench::paired_ratio(blocks_of(1, 4, 0, 0, 1)).error));
  EXPECT_TRUE(std::isfinite(bench::paired_ratio(blocks_of(1, 5, 0, 0, 1)).error));
}

}  // namespace
}  // namespace distsim::bench
