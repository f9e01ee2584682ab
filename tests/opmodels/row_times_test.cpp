#include "opmodels/learned/row_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace distsim::opmodels {
namespace {

/// A microsecond an element by the analytic model, and learned as well but for one size.
RowTimes::At with_one(double rows, double cols, double seconds) {
  return {[=](double r, double c) { return r == rows && c == cols ? seconds : r * c * 1e-6; },
          [](double r, double c) { return r * c * 1e-6; }};
}

double kept(RowTimes& times, double rows, double cols, const RowTimes::At& at) {
  return times.kept_growing(rows, cols, at.learned(rows, cols), at);
}

TEST(RowTimes, WhatGrowsStaysAsItIs) {
  RowTimes times;
  for (const double rows : {1.0, 3.0, 5.0, 9.0, 768.0, 1000.0, 1e6}) {
    for (const double cols : {1.0, 7.0, 96.0, 1024.0, 100000.0})
      EXPECT_DOUBLE_EQ(kept(times, rows, cols, with_one(0, 0, 0)), rows * cols * 1e-6);
  }
}

TEST(RowTimes, ASpikeComesDownToTheCheapestLargerSize) {
  RowTimes times;
  EXPECT_DOUBLE_EQ(kept(times, 64, 64, with_one(64, 64, 1)), 80 * 64e-6);
}

TEST(RowTimes, ADipBringsDownWhatIsSmaller) {
  RowTimes times;
  const RowTimes::At dip = with_one(1024, 1024, 0.6);
  EXPECT_DOUBLE_EQ(kept(times, 1024, 1024, dip), 0.6);
  EXPECT_DOUBLE_EQ(kept(times, 1024, 768, dip), 0.6);
  EXPECT_DOUBLE_EQ(kept(times, 1000, 1000, dip), 0.6) << "between grid points as well";
  EXPECT_DOUBLE_EQ(kept(times, 2, 3, dip), 6e-6);
  EXPECT_DOUBLE_EQ(kept(times, 1024, 1536, dip), 1024 * 1536e-6) << "not what is larger";
}

TEST(RowTimes, BetweenGridPointsNothingIsCheaperThanThePointBelow) {
  RowTimes times;
  EXPECT_DOUBLE_EQ(times.kept_growing(70, 70, 1e-9, with_one(0, 0, 0)), 64 * 64e-6);
}

TEST(RowTimes, OutsideOfTheGridTimesAreLeftAsTheyAre) {
  RowTimes times;
  const RowTimes::At any = with_one(0, 0, 0);
  EXPECT_EQ(times.kept_growing(std::ldexp(1, 40), 64, 7, any), 7);
  EXPECT_EQ(times.kept_growing(64, std::ldexp(1, 61), 7, any), 7);
  EXPECT_EQ(times.kept_growing(0, 64, 7, any), 7);
}

/// Whatever was learned, within a factor of two of the analytic time.
TEST(RowTimes, PastAGridPointNothingIsCheaper) {
  const RowTimes::At noisy{[](double r, double c) {
                             const double bits = std::fmod(std::sin(r * 12.9898 + c * 78.233) * 43758.5453, 1.0);
                             return (4e-6 + r * c * 1e-9) * std::exp2(bits);
                           },
                           [](double r, double c) { return 4e-6 + r * c * 1e-9; }};
  RowTimes times;
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const double rows = 4 + static_cast<double>(random() % 5000), cols = 4 + static_cast<double>(random() % 5000);
    const double round = std::exp2(random() % 12), more = 1.5 * std::exp2(random() % 12);
    EXPECT_GE(kept(times, std::ceil(rows * 1.25), more, noisy), kept(times, rows, more, noisy))
        << rows << " x " << more;
    EXPECT_GE(kept(times, round, std::ceil(cols * 1.5), noisy), kept(times, round, cols, noisy))
        << round << " x " << cols;
    EXPECT_GE(kept(times, 2 * rows, 2 * cols, noisy), kept(times, rows, cols, noisy)) << rows << " x " << cols;
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
