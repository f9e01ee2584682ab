#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace distsim {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{"n: found " + std::to_string(n) + ", expected an even number", "here:1:2", ""};
  return n / 2;
}

Result<int> quarter(int n) {
  TRY_ASSIGN(const int h, half(n));
  return half(h);
}

Result<void> both_even(int a, int b) {
  TRY(half(a));
  TRY(half(b));
  return {};
}

TEST(Error, ReadsAsOneLine) {
  EXPECT_EQ((Error{"what", "where", "hint"}.text()), "where: what; hint");
  EXPECT_EQ((Error{"what", "", ""}.text()), "what");
  EXPECT_EQ((Error{"what", "where", ""}.text()), "where: what");
}

TEST(Error, NamesAKeyOfAFlagOnce) {
  for (const std::string flag : {"--set", "--vary"}) {
    EXPECT_EQ((Error{"a.b: found 1", flag + " a.b", ""}.text()), flag + " a.b: found 1");
    EXPECT_EQ((Error{"a.b.c: found 1", flag + " a.b", ""}.text()), flag + " a.b.c: found 1");
    EXPECT_EQ((Error{"a[1].c: found 1", flag + " a.1", ""}.text()), flag + " a[1].c: found 1");
    EXPECT_EQ((Error{"a.bc: found 1", flag + " a.b", ""}.text()), flag + " a.b: a.bc: found 1");
  }
  EXPECT_EQ((Error{"x: found 1", "a file x", ""}.text()), "a file x: x: found 1");
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error().text(), "here:1:2: n: found 3, expected an even number");
}

TEST(Result, TryHandsErrorsUp) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().what, "n: found 3, expected an even number");
  EXPECT_EQ(quarter(5).error().what, "n: found 5, expected an even number");
  EXPECT_TRUE(both_even(2, 4).ok());
  EXPECT_FALSE(both_even(2, 3).ok());
  EXPECT_FALSE(both_even(1, 2).ok());
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 7);
}

TEST(ResultDeathTest, ValueOfAnErrorSaysWhatTheErrorWas) {
  EXPECT_DEATH(half(3).value(), "found 3, expected an even number");
}

TEST(CheckDeathTest, AbortsWithFileLineConditionAndDetail) {
  const int ranks = 3;
  EXPECT_DEATH(CHECK(ranks == 4) << "ranks is " << ranks,
               "result_test.cpp:[0-9]+: CHECK\\(ranks == 4\\) failed. ranks is 3");
}

TEST(Check, EvaluatesItsDetailOnlyWhenItFails) {
  int evaluated = 0;
  CHECK(true) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace distsim
