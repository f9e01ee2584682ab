#include "sim/web/messages/body.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace distsim::web {
namespace {

using Json = nlohmann::json;

const Json kBody = Json::parse(
    R"({"text":"a","number":7,"real":1.5,"null":null,"list":["a","b"],"mixed":["a",1],"yes":true,"large":18446744073709551615,"small":-3})");

TEST(Body, TextsAndNumbersAreWhatTheySay) {
  EXPECT_EQ(*string_in(kBody, "text"), "a");
  EXPECT_FALSE(string_in(kBody, "number").ok());
  EXPECT_FALSE(string_in(kBody, "none").ok());
  EXPECT_EQ(*optional_string_in(kBody, "none"), "");
  EXPECT_EQ(*optional_string_in(kBody, "null"), "");
  EXPECT_FALSE(optional_string_in(kBody, "list").ok());
  EXPECT_EQ(*integer_within(kBody, "number", 1, 10, 3), 7);
  EXPECT_EQ(*integer_within(kBody, "none", 1, 10, 3), 3);
  for (const char* key : {"real", "text", "large", "small", "list", "yes"})
    EXPECT_FALSE(integer_within(kBody, key, 1, INT64_MAX, 3).ok()) << key;
  EXPECT_EQ(*amount_in(kBody, "real"), 1.5);
  EXPECT_EQ(*amount_in(kBody, "none"), 0);
  for (const char* key : {"text", "small", "yes"}) EXPECT_FALSE(amount_in(kBody, key).ok()) << key;
  EXPECT_TRUE(flag_in(kBody, "yes"));
  EXPECT_FALSE(flag_in(kBody, "text"));
}

TEST(Body, ErrorsSayWhatWasFound) {
  EXPECT_EQ(integer_within(kBody, "small", 1, 8, 3).error().what,
            "small: found -3, expected a whole number from 1 to 8");
  EXPECT_EQ(integer_within(kBody, "text", 1, 8, 3).error().what,
            "text: found 'a', expected a whole number from 1 to 8");
  EXPECT_EQ(amount_in(kBody, "small").error().what, "small: found -3, expected a number of 0 or more");
  const Json large{{"n", Json(std::vector<int>(10'000, 7))}};
  EXPECT_LT(integer_within(large, "n", 1, 8, 3).error().what.size(), 150u);
}

TEST(Body, ListsAreBounded) {
  EXPECT_EQ(strings_in(kBody, "list", 2)->size(), 2u);
  EXPECT_FALSE(strings_in(kBody, "list", 1).ok());
  EXPECT_FALSE(strings_in(kBody, "mixed", 5).ok());
  EXPECT_FALSE(strings_in(kBody, "text", 5).ok());
  EXPECT_TRUE(strings_in(kBody, "none", 5)->empty());
}

TEST(Body, WhatIsNoTextOrNumberIsWrittenAllTheSame) {
  EXPECT_EQ(dumped({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
  EXPECT_TRUE(number(std::numeric_limits<double>::infinity()).is_null());
  EXPECT_EQ(number(2), 2);
}

}  // namespace
}  // namespace distsim::web
