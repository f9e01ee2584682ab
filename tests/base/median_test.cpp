#include "base/median.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace distsim {
namespace {

TEST(Median, IsInTheMiddle) {
  EXPECT_EQ(median(std::vector<int>{7}), 7);
  EXPECT_EQ(median(std::vector<int>{100, 0}), 50);
  EXPECT_EQ(median(std::vector<int>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<int>{4, 8, 100, 2}), 6);
  EXPECT_EQ(median(std::vector<std::int64_t>{INT64_MAX, INT64_MAX - 2}), INT64_MAX - 1);
  EXPECT_EQ(upper_median(std::vector<int>{100, 0}), 100);
}

}  // namespace
}  // namespace distsim
