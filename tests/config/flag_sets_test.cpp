#include "sim/config/flag_sets.hpp"

#include <gtest/gtest.h>

#include "sim/config/variants.hpp"

namespace distsim::config {
namespace {

using Sets = std::vector<std::string>;

TEST(FlagSets, AFlagReplacesTheSetsOfItsKey) {
  const Sets sets{"a.b=1", "a.bc=2", "a.b.c=3", "a=4"};
  EXPECT_EQ(with_flags(sets, {{"--b 5", "a.b", "5"}}), (Sets{"a.bc=2", "a=4", "a.b=5"}));
  EXPECT_EQ(with_flags(sets, {}), sets);
}

/// Whatever files are called, the key has their names.
TEST(FlagSets, CurvesAreAListOfTheirNames) {
  const Sets names{"a.csv", "it's.csv", "x, y].csv", "#1: {a}"};
  const FlagSet flag = curves_flag(names);
  EXPECT_EQ(flag.flag, "--curves a.csv it's.csv x, y].csv #1: {a}");
  const auto parsed = parse_set(flag.key + "=" + flag.value);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  Sets read;
  for (const ConfigNode& item : parsed->value.items) read.push_back(item.scalar);
  EXPECT_EQ(read, names);
}

/// By the last of those that do, a later one of its key or of a map that holds it; in order.
TEST(FlagSets, LaterSetsReplaceEarlierOnes) {
  const Sets sets{"a.b.c=1", "a.b=2", "x=3", "a.bc=4", "a=5", "x=6", "a.b=7"};
  Sets found;
  for (const ReplacedSet& r : replaced_sets(sets)) found.push_back(r.set + " by " + r.by);
  EXPECT_EQ(found, (Sets{"a.b.c=1 by a.b=7", "a.b=2 by a.b=7", "x=3 by x=6", "a.bc=4 by a=5"}));
}

TEST(FlagSets, KeysAreComparedByParts) {
  EXPECT_TRUE(is_of_key("a.b=1", "a.b"));
  EXPECT_TRUE(is_of_key("a.b.c=1", "a.b"));
  EXPECT_FALSE(is_of_key("a.bc=1", "a.b"));
  EXPECT_FALSE(is_of_key("a=1", "a.b"));
  EXPECT_EQ(key_of_set("a.b=c=d"), "a.b");
}

TEST(FlagSets, AKeyIsGivenInAnyNotation) {
  EXPECT_TRUE(gives("a.b=1", "a.b"));
  EXPECT_TRUE(gives("a.b.c=1", "a.b"));
  EXPECT_TRUE(gives("a={b: 1, c: {d: 2}}", "a.b"));
  EXPECT_TRUE(gives("a={b: 1, c: {d: 2}}", "a.c.d"));
  EXPECT_TRUE(gives("a=b: 1", "a.b"));
  EXPECT_TRUE(gives("a={b: [{c: 1}]}", "a.b.0.c"));
  EXPECT_TRUE(gives("model={parallel: {tensor: 8}}", "parallel.tensor"));
  EXPECT_FALSE(gives("a={b: 1}", "a.c"));
  EXPECT_FALSE(gives("a={b: 1}", "a.b.c"));
  EXPECT_FALSE(gives("a={b: [{c: 1}]}", "a.b.1.c"));
  EXPECT_FALSE(gives("a=1", "a.b"));
  EXPECT_FALSE(gives("ab={b: 1}", "a.b"));
  EXPECT_FALSE(gives("a={b: ", "a.b"));
  EXPECT_TRUE(any_gives({"x=1", "a={b: 1}"}, "a.b"));
  EXPECT_FALSE(any_gives({}, "a.b"));
}

TEST(FlagSets, TheLayoutIsTheModelsToo) {
  for (const char* set : {"parallel.tensor=8", "model.parallel.tensor=8", "model={parallel: {tensor: 8}}"}) {
    EXPECT_TRUE(gives(set, "parallel.tensor")) << set;
    EXPECT_TRUE(gives(set, "model.parallel.tensor")) << set;
    EXPECT_TRUE(gives(set, "parallel")) << set;
    EXPECT_FALSE(gives(set, "model.parallel.pipeline")) << set;
  }
  EXPECT_FALSE(gives("parallel.tensor=8", "model"));
  EXPECT_FALSE(gives("parallel.tensor=8", "model.parallels"));
  EXPECT_EQ(plain_key("model.parallel.tensor"), "parallel.tensor");
  EXPECT_EQ(plain_key("model.parallels"), "model.parallels");
}

TEST(FlagSets, PlacesAreAllThatIsGiven) {
  EXPECT_EQ(places_of("a.b=1"), (Sets{"a", "a.b"}));
  EXPECT_EQ(places_of("a={b: [{c: 1}]}"), (Sets{"a", "a.b", "a.b.0", "a.b.0.c"}));
  EXPECT_EQ(places_of("model.parallel={tensor: 8}"), (Sets{"model", "parallel", "parallel.tensor"}));
  EXPECT_EQ(places_of("a={b: "), Sets{"a"});
}

/// A map is replaced where all in it is.
TEST(FlagSets, AMapIsReplacedInParts) {
  EXPECT_TRUE(replace_all({"a.b=2"}, "a.b=1"));
  EXPECT_TRUE(replace_all({"a=2"}, "a.b=1"));
  EXPECT_TRUE(replace_all({"a.b=2", "a.c.d=3"}, "a={b: 1, c: {d: 2}}"));
  EXPECT_FALSE(replace_all({"a.b=2"}, "a={b: 1, c: 2}"));
  EXPECT_FALSE(replace_all({"a.b.c=2"}, "a.b=1"));
  EXPECT_FALSE(replace_all({}, "a={}"));
}

}  // namespace
}  // namespace distsim::config
