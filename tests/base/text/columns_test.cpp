#include "base/text/columns.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

TEST(Columns, ACharacterIsOne) {
  EXPECT_EQ(columns_of(""), 0U);
  EXPECT_EQ(columns_of("GPU"), 3U);
  EXPECT_EQ(columns_of("2\xC2\xB5s"), 3U);
}

TEST(AlignedTable, NamesStandLeftAndFiguresRight) {
  EXPECT_EQ(aligned_table({{"policy", "ms", "basis"}, {"fifo", "12.5", "measured"}, {"sjf", "9", ""}}, 1),
            "policy    ms  basis\n"
            "fifo    12.5  measured\n"
            "sjf        9\n");
}

TEST(AlignedTable, AMessageMakesNoColumnWider) {
  EXPECT_EQ(aligned_table({{"a", "b", "c"}, {"1", "does not fit into memory"}, {"22", "3", "4"}}, 0),
            " a  b  c\n"
            " 1  does not fit into memory\n"
            "22  3  4\n");
}

TEST(AlignedTable, WidthsAreOfCharacters) {
  EXPECT_EQ(aligned_table({{"\xC2\xB5s", "x"}, {"abc", "y"}}, 1), "\xC2\xB5s   x\nabc  y\n");
}

/// A name cannot end a row and begin one of its own.
TEST(AlignedTable, ACellIsOneLine) {
  EXPECT_EQ(aligned_table({{"model", "ms"}, {"a\nb\tc\x1b", "1"}}, 1), "model   ms\na?b?c?  1\n");
  EXPECT_EQ(one_line("\xC3\xA9\xC2\x9B\xFFz"), "\xC3\xA9??z");
}

}  // namespace
}  // namespace distsim
