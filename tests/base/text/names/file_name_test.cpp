#include "base/text/names/file_name.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

TEST(FileName, HoldsNothingThatLeadsOutOfItsFolder) {
  for (const char* good : {"a100_sxm4_80gb", "Tesla V100", "x.y", "..", "\u00e4"})
    EXPECT_TRUE(is_file_name(good)) << good;
  for (const char* bad : {"", "../a", "/a", "a/", "a\nb", "a\tb", "a\x7f", "\xff"})
    EXPECT_FALSE(is_file_name(bad)) << bad;
  EXPECT_TRUE(is_file_name(std::string(kLongestFileName, 'a')));
  EXPECT_FALSE(is_file_name(std::string(kLongestFileName + 1, 'a')));
  EXPECT_FALSE(is_file_name(std::string("a\0b", 3)));
}

TEST(FileName, ARuleSaysWhatIsExpected) {
  EXPECT_EQ(broken_file_name("a"), std::nullopt);
  EXPECT_EQ(*broken_file_name("../a"),
            "name: found '../a', expected the name of a file: 1 to 200 bytes without '/' or control characters");
}

}  // namespace
}  // namespace distsim
