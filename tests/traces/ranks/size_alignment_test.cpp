#include "traces/ranks/size_alignment.hpp"

#include <gtest/gtest.h>

#include <random>

namespace distsim::traces {
namespace {

constexpr std::uint32_t kOpen = kUnaligned;

TEST(SizeAlignment, WhatSizesTell) {
  using Places = std::vector<std::uint32_t>;
  EXPECT_EQ(certain_alignment({1, 2, 3, 4}, {1, 3, 4}), (Places{0, 2, 3}));
  EXPECT_EQ(certain_alignment({1, 2, 2, 4}, {1, 2, 4}), (Places{0, kOpen, 3}));
  EXPECT_EQ(certain_alignment({5, 5, 5}, {5, 5}), (Places{kOpen, kOpen}));
  EXPECT_EQ(certain_alignment({1, 2}, {3, 4}), (Places{kOpen, kOpen}));
  EXPECT_EQ(certain_alignment({1, 2, 3}, {1, -1, 3}), (Places{0, 1, 2}));
  EXPECT_EQ(certain_alignment({1, 2}, {2, 1}), (Places{kOpen, kOpen}));
  EXPECT_EQ(certain_alignment({}, {1}), (Places{kOpen}));
  EXPECT_TRUE(certain_alignment({1}, {}).empty());
}

/// Of an order that lost some, none is taken for another, and of one that lost none all are found.
TEST(SizeAlignment, IsNeverWrong) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> all, left;
    std::vector<std::uint32_t> truth;
    const std::size_t length = random() % 30, kinds = 1 + random() % 6;
    const std::uint32_t lost_of_eight = random() % 4;
    for (std::size_t i = 0; i < length; ++i) {
      all.push_back(static_cast<std::int64_t>(random() % kinds));
      if (random() % 8 < lost_of_eight) continue;
      left.push_back(all.back());
      truth.push_back(static_cast<std::uint32_t>(i));
    }
    const std::vector<std::uint32_t> found = certain_alignment(all, left);
    ASSERT_EQ(found.size(), truth.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (left.size() < all.size() && found[k] == kOpen) continue;
      EXPECT_EQ(found[k], truth[k]) << round;
    }
  }
}

}  // namespace
}  // namespace distsim::traces
