#include "opmodels/learned/row_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace distsim::opmodels {
namespace {

/// A microsecond an element by the analytic model, and learned as well but for one size.
RowTimes::At with_one(double rows, double cols, double seconds) {
  return {[=](double r, double c) { return r == rows && c == cols ? seconds : r * c * 1e-6; },
          [](double r, double c) { return r * c * 1e-6; }};
}

TEST(RowTimes, WhatGrowsWithTheElementsStaysAsItIs) {
  RowTimes times;
  for (const double rows : {1.0, 3.0, 5.0, 768.0, 1000.0, 1e6}) {
    for (const double cols : {1.0, 7.0, 96.0, 1024.0, 100000.0})
      EXPECT_NEAR(*times.seconds(rows, cols, with_one(0, 0, 0)), rows * cols * 1e-6, rows * cols * 1e-15);
  }
}

TEST(RowTimes, ASpikeComesDownToTheCheapestLargerSize) {
  RowTimes times;
  EXPECT_DOUBLE_EQ(*times.seconds(64, 64, with_one(64, 64, 1)), 64 * 96e-6);
}

TEST(RowTimes, ADipBringsDownWhatIsSmaller) {
  RowTimes times;
  const RowTimes::At dip = with_one(1024, 1024, 0.6);
  EXPECT_DOUBLE_EQ(*times.seconds(1024, 1024, dip), 0.6);
  EXPECT_DOUBLE_EQ(*times.seconds(1024, 768, dip), 0.6);
  EXPECT_DOUBLE_EQ(*times.seconds(2, 3, dip), 6e-6);
  EXPECT_DOUBLE_EQ(*times.seconds(1024, 1536, dip), 1024 * 1536e-6) << "not what is larger";
}

TEST(RowTimes, OutsideOfTheGridThereIsNone) {
  RowTimes times;
  const RowTimes::At any = with_one(0, 0, 0);
  EXPECT_FALSE(times.seconds(std::ldexp(1, 40), 64, any));
  EXPECT_FALSE(times.seconds(64, std::ldexp(1, 61), any));
}

/// Whatever was learned, within a factor of two of the analytic time.
TEST(RowTimes, NoRowAndNoColumnMakesItCheaper) {
  const RowTimes::At noisy{[](double r, double c) {
                             const double bits = std::fmod(std::sin(r * 12.9898 + c * 78.233) * 43758.5453, 1.0);
                             return (4e-6 + r * c * 1e-9) * std::exp2(bits);
                           },
                           [](double r, double c) { return 4e-6 + r * c * 1e-9; }};
  RowTimes times;
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const double rows = 1 + random() % 5000, cols = 1 + random() % 5000;
    const double before = *times.seconds(rows, cols, noisy);
    const double more = 1 + random() % 100;
    EXPECT_GE(*times.seconds(rows + more, cols, noisy), before * (1 - 1e-12)) << rows << " x " << cols;
    EXPECT_GE(*times.seconds(rows, cols + more, noisy), before * (1 - 1e-12)) << rows << " x " << cols;
  }
}

TEST(RowTables, AreMadeOnceForEachKernel) {
  RowTables tables;
  RowTimes& first = tables.of({RowKernel::layer_norm, false, false, 2});
  EXPECT_EQ(&tables.of({RowKernel::layer_norm, false, false, 2}), &first);
  EXPECT_NE(&tables.of({RowKernel::layer_norm, true, false, 2}), &first);
  EXPECT_NE(&tables.of({RowKernel::layer_norm, false, true, 2}), &first);
  EXPECT_NE(&tables.of({RowKernel::softmax, false, false, 2}), &first);
  EXPECT_NE(&tables.of({RowKernel::layer_norm, false, false, 4}), &first);
}

}  // namespace
}  // namespace distsim::opmodels
