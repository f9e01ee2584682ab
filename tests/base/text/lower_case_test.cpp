#include "base/text/lower_case.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

TEST(LowerCase, ChangesAsciiLettersAlone) {
  EXPECT_EQ(lower_case("NVIDIA A100-SXM4 @[`{ az AZ"), "nvidia a100-sxm4 @[`{ az az");
  EXPECT_EQ(lower_case("\xC3\x89"), "\xC3\x89");  // É stays
  EXPECT_EQ(lower_case(std::string_view("A\0B", 3)), std::string("a\0b", 3));
}

}  // namespace
}  // namespace distsim
