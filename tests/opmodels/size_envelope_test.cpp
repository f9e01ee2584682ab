#include "opmodels/learned/size_envelope.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim::opmodels {
namespace {

/// A microsecond an element, but one size is out of line.
SizeEnvelope::Time with_one(double rows, double cols, double seconds) {
  return [=](double r, double c) { return r == rows && c == cols ? seconds : r * c * 1e-6; };
}

TEST(SizeEnvelope, WhatGrowsStaysAsItIs) {
  const SizeEnvelope envelope(with_one(0, 0, 0));
  for (const double rows : {1.0, 3.0, 5.0, 768.0, 1000.0, 1e6}) {
    for (const double cols : {1.0, 7.0, 96.0, 1024.0, 100000.0})
      EXPECT_DOUBLE_EQ(envelope.bound(rows, cols, rows * cols * 1e-6), rows * cols * 1e-6);
  }
}

TEST(SizeEnvelope, ASpikeComesDownToATenthAboveTheCheapestLargerSize) {
  const SizeEnvelope envelope(with_one(64, 64, 1));
  EXPECT_DOUBLE_EQ(envelope.bound(64, 64, 1), 1.1 * 64 * 96e-6);
}

TEST(SizeEnvelope, ADipBringsDownWhatIsSmaller) {
  const SizeEnvelope envelope(with_one(1024, 1024, 1e-6));
  EXPECT_DOUBLE_EQ(envelope.bound(1024, 1024, 1e-6), 1e-6);
  EXPECT_DOUBLE_EQ(envelope.bound(2, 3, 6e-6), 1.1e-6);
  EXPECT_DOUBLE_EQ(envelope.bound(1000, 1000, 1), 1.1e-6) << "between grid points as well";
  EXPECT_DOUBLE_EQ(envelope.bound(1025, 1024, 1025 * 1024e-6), 1025 * 1024e-6) << "not what is larger";
}

TEST(SizeEnvelope, BetweenGridPointsNothingIsCheaperThanThePointBelow) {
  const SizeEnvelope envelope(with_one(0, 0, 0));
  EXPECT_DOUBLE_EQ(envelope.bound(70, 70, 1e-9), 64 * 64e-6);
}

TEST(SizeEnvelope, OutsideOfTheGridNothingIsBounded) {
  const SizeEnvelope envelope(with_one(0, 0, 0));
  EXPECT_EQ(envelope.bound(std::ldexp(1, 40), 64, 7), 7);
  EXPECT_EQ(envelope.bound(64, std::ldexp(1, 61), 7), 7);
  EXPECT_EQ(envelope.bound(1 << 16, 1 << 12, 7), 7) << "many elements";
}

TEST(RowEnvelopes, AreBuiltOnceForEachKernel) {
  RowEnvelopes envelopes;
  int asked = 0;
  const SizeEnvelope::Time time = [&](double rows, double cols) {
    ++asked;
    return rows * cols;
  };
  const SizeEnvelope& first = envelopes.of(RowKernel::layer_norm, false, 2, time);
  const int once = asked;
  EXPECT_EQ(&envelopes.of(RowKernel::layer_norm, false, 2, time), &first);
  EXPECT_EQ(asked, once);
  EXPECT_NE(&envelopes.of(RowKernel::layer_norm, true, 2, time), &first);
  EXPECT_NE(&envelopes.of(RowKernel::softmax, false, 2, time), &first);
  EXPECT_NE(&envelopes.of(RowKernel::layer_norm, false, 4, time), &first);
}

}  // namespace
}  // namespace distsim::opmodels
