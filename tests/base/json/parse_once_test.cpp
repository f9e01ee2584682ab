#include "base/json/parse_once.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace distsim {
namespace {

TEST(ParseOnce, GivesWhatTheParserGives) {
  for (const char* text :
       {"1", "-1", "18446744073709551615", "1.5e300", "true", "null", "\"a\\u00e9\"", "[]", "{}", "[[],{}]",
        R"({"a":[1,{"b":[{}, 2, {"c":null}]},"x"],"d":{"e":{"f":[]}},"":0})", R"([{"a":1},{"a":2},[3,[4]],{}])"}) {
    std::string twice;
    const nlohmann::json found = parse_once(text, twice);
    EXPECT_EQ(found, nlohmann::json::parse(text)) << text;
    EXPECT_EQ(twice, "");
  }
  for (const char* text : {"", "[", "{\"a\"}", "[1,]", "{}{}", "nan", "\"\xff\""}) {
    std::string twice;
    bool too_many = true;
    EXPECT_TRUE(parse_once(text, twice, &too_many).is_discarded()) << text;
    EXPECT_FALSE(too_many);
  }
}

TEST(ParseOnce, NamesTheFirstNameThatAnObjectHasTwice) {
  std::string twice;
  EXPECT_EQ(parse_once(R"({"a":{"b":1},"c":{"b":2},"a":3})", twice)["a"], 3);
  EXPECT_EQ(twice, "a");
  twice.clear();
  (void)parse_once(R"([{"a":1},{"a":1},{"x":{"y":0,"y":1},"z":0,"z":1}])", twice);
  EXPECT_EQ(twice, "y");
}

TEST(ParseOnce, RefusesMoreValuesThanItMayHold) {
  std::string twice;
  bool too_many = true;
  EXPECT_FALSE(parse_once("[0,[],{},{\"a\":1}]", twice, &too_many, 6).is_discarded());
  EXPECT_TRUE(parse_once("[0,[],{},{\"a\":1}]", twice, &too_many, 5).is_discarded());
  EXPECT_TRUE(too_many);
}

/// Of objects in one array as of numbers: not by the square of their number, which would be hours here.
TEST(ParseOnce, ManyObjectsTakeNoLongerEach) {
  const auto seconds = [](const std::string& value, int count) {
    std::string text = "[" + value, twice;
    for (int i = 1; i < count; ++i) text += "," + value;
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(parse_once(text + "]", twice).size(), static_cast<std::size_t>(count));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  constexpr int kCount = 300'000;
  EXPECT_LT(seconds("{\"a\":0}", kCount), 50 * seconds("[0,0]", kCount));
}

}  // namespace
}  // namespace distsim
