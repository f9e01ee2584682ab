#include "base/text/counted.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

TEST(Counted, AgreesWithItsNumber) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "rank"), "2 ranks");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(3, "copy", "copies"), "3 copies");
}

TEST(Counted, VerbsAgreeToo) {
  EXPECT_EQ(agreeing(1, "is", "are"), "is");
  EXPECT_EQ(agreeing(0, "is", "are"), "are");
}

TEST(Grouped, DigitsInThrees) {
  EXPECT_EQ(grouped(std::uint64_t{0}), "0");
  EXPECT_EQ(grouped(std::uint64_t{999}), "999");
  EXPECT_EQ(grouped(std::uint64_t{12345678}), "12,345,678");
  EXPECT_EQ(grouped(1e15), "1,000,000,000,000,000");
}

}  // namespace
}  // namespace distsim
