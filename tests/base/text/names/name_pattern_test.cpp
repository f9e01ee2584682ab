#include "base/text/names/name_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

namespace distsim {
namespace {

bool found(const std::string& pattern, const std::string& name) {
  const auto compiled = NamePattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern;
  return compiled->found_in(name);
}

TEST(NamePattern, IsFoundAnywhereInTheName) {
  EXPECT_TRUE(found("gemm", "ampere_bf16_gemm_128x64"));
  EXPECT_TRUE(found("^ProfilerStep#\\d+$", "ProfilerStep#12"));
  EXPECT_TRUE(found("(?:elementwise|reduce)_kernel<", "void elementwise_kernel<4>"));
  EXPECT_FALSE(found("^gemm", "ampere_bf16_gemm_128x64"));
}

TEST(NamePattern, LooksAtTheFirstBytesOfLongNames) {
  const std::string name = std::string(1'000'000, 'a') + "b";
  EXPECT_TRUE(found("^(a|c)+$", name));  // 512 times a
  EXPECT_FALSE(found("b", name));
}

TEST(NamePattern, RefusesWhatIsNoExpression) {
  for (const std::string bad : {"(", "[", "a{2,1}", "*", "\\"}) EXPECT_FALSE(NamePattern::compile(bad)) << bad;
  EXPECT_FALSE(NamePattern::compile(std::string(1025, 'a')));
  EXPECT_EQ(NamePattern::compile("(\n").error().text().find('\n'), std::string::npos);
}

/// A backtracking matcher would try these for longer than anybody waits.
TEST(NamePattern, TakesNoLongerForExpressionsThatBacktrack) {
  for (const std::string bad : {"(.*)*(.*)*(.*)*x$", "(a+)+(a+)+(a+)+(a+)+b$", ".*.*.*.*.*.*.*.*.*.*x"}) {
    const auto compiled = NamePattern::compile(bad);
    if (!compiled) continue;  // refused outright is as good
    EXPECT_FALSE(compiled->found_in(std::string(512, 'a'))) << bad;
  }
}

}  // namespace
}  // namespace distsim
