#include "base/json/json_fields.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim {
namespace {

TEST(JsonFields, ValuesByNameAndType) {
  const auto json = nlohmann::json::parse(
      R"({"a": null, "b": 2.5, "t": " -1", "n": "N/A", "s": "x", "yes": true, "one": 1, "no": "false", "o": {}, "l": []})");
  JsonFields f(json, "here");
  EXPECT_EQ(f.number({"none"}), std::nullopt);
  EXPECT_EQ(f.number({"a", "b"}), 2.5);
  EXPECT_EQ(f.number({"t"}), -1);
  EXPECT_TRUE(std::isnan(f.number({"n"}).value()));
  EXPECT_EQ(f.whole({"one"}, 8), 1u);
  EXPECT_EQ(f.text({"s"}), "x");
  EXPECT_EQ(f.text({"b"}), "2.5");
  EXPECT_EQ(f.flag({"yes"}), true);
  EXPECT_EQ(f.flag({"one"}), true);
  EXPECT_EQ(f.flag({"no"}), false);
  EXPECT_NE(f.object({"o"}), nullptr);
  EXPECT_EQ(f.object({"n"}), nullptr);
  EXPECT_NE(f.list({"l"}), nullptr);
  EXPECT_TRUE(f.check().ok());
}

TEST(JsonFields, AnotherTypeIsAnError) {
  const auto json = nlohmann::json::parse(R"({"s": "x", "big": 1e30, "part": 2.5, "less": -1, "yes": true, "l": []})");
  const auto said = [&](auto read) {
    JsonFields f(json, "here");
    read(f);
    const auto checked = f.check();
    return checked.ok() ? std::string() : checked.error().text();
  };
  EXPECT_EQ(said([](JsonFields& f) { f.number({"s"}); }), "here: s: found \"x\", expected a number");
  EXPECT_EQ(said([](JsonFields& f) { f.whole({"big"}, 8); }),
            "here: big: found 1e+30, expected a whole number from 0 to 8");
  EXPECT_NE(said([](JsonFields& f) { f.whole({"part"}, 8); }), "");
  EXPECT_NE(said([](JsonFields& f) { f.whole({"less"}, 8); }), "");
  EXPECT_EQ(said([](JsonFields& f) { f.text({"yes"}); }), "here: yes: found true, expected text");
  EXPECT_EQ(said([](JsonFields& f) { f.flag({"less"}); }), "here: less: found -1, expected true or false");
  EXPECT_NE(said([](JsonFields& f) { f.flag({"s"}); }), "");
  EXPECT_EQ(said([](JsonFields& f) { f.object({"l"}); }), "here: l: found [], expected an object");
  EXPECT_EQ(said([](JsonFields& f) { f.list({"s"}); }), "here: s: found \"x\", expected a list");
}

}  // namespace
}  // namespace distsim
