// merge_config and set_config_path: how overrides reach a configuration tree.
#include <gtest/gtest.h>

#include "base/config/config_node.hpp"
#include "base/config/config_path.hpp"

namespace distsim {
namespace {

using Kind = ConfigNode::Kind;

ConfigNode yaml_of(const std::string& text, const std::string& file = "base.yaml") { return *parse_yaml(text, file); }

TEST(MergeConfig, MapsMergeKeyByKeyAndOrderStays) {
  ConfigNode base = yaml_of("a: 1\nb: {x: 1, y: 2}\nc: 3\n");
  ASSERT_TRUE(merge_config(base, yaml_of("b: {y: 20, z: 30}\nd: 4\n", "over.yaml")).ok());
  ASSERT_EQ(base.entries.size(), 4u);
  EXPECT_EQ(base.entries[3].key, "d");
  const ConfigNode& b = *base.find("b");
  EXPECT_EQ(b.find("x")->scalar, "1");
  EXPECT_EQ(b.find("y")->scalar, "20");
  EXPECT_EQ(b.find("z")->scalar, "30");
  EXPECT_EQ(b.find("x")->where.text(), "base.yaml:2:8");
  EXPECT_EQ(b.find("y")->where.text(), "over.yaml:1:8");
}

TEST(MergeConfig, AnythingElseReplaces) {
  ConfigNode base = yaml_of("a: [1, 2, 3]\nb: {x: 1}\nc: 1\nd: {x: 1}\n");
  ASSERT_TRUE(merge_config(base, yaml_of("a: [9]\nb: 2\nc: {y: 1}\nd: ~\n")).ok());
  EXPECT_EQ(base.find("a")->items.size(), 1u);
  EXPECT_EQ(base.find("b")->scalar, "2");
  EXPECT_EQ(base.find("c")->find("y")->scalar, "1");
  EXPECT_EQ(base.find("d")->kind, Kind::null);
}

TEST(MergeConfig, NumbersOfAMapNameItemsOfAList) {
  ConfigNode base = yaml_of("tables: [{rows: 1, dim: 8}, {rows: 2}]\n");
  ASSERT_TRUE(merge_config(base, yaml_of("tables: {0: {rows: 10}}\n")).ok());
  EXPECT_EQ(base.find("tables")->items[0].find("rows")->scalar, "10");
  EXPECT_EQ(base.find("tables")->items[0].find("dim")->scalar, "8");
  EXPECT_EQ(base.find("tables")->items[1].find("rows")->scalar, "2");
  const auto beyond = merge_config(base, yaml_of("tables: {2: {rows: 10}}\n", "over.yaml"));
  EXPECT_EQ(beyond.error().text(), "over.yaml:1:10: found the item '2', expected an item number from 0 to 1");
}

TEST(MergeConfig, AMapOfWordsIsNoListOfItems) {
  ConfigNode base = yaml_of("tables: [1]\n");
  const auto merged = merge_config(base, yaml_of("tables: {a: 1}\n", "over.yaml"));
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().text(), "over.yaml:1:10: found the item 'a', expected an item number from 0 to 0");
}

TEST(SetConfigPath, ReplacesAndCreates) {
  ConfigNode root = yaml_of("cluster: {nodes: 4}\nempty:\n");
  ASSERT_TRUE(set_config_path(root, "cluster.nodes", "8").ok());
  ASSERT_TRUE(set_config_path(root, "cluster.nic.bandwidth", "25 GB/s").ok());
  ASSERT_TRUE(set_config_path(root, "empty.a", "1").ok());
  EXPECT_EQ(root.find("cluster")->find("nodes")->scalar, "8");
  EXPECT_EQ(root.find("cluster")->find("nodes")->where.text(), "--set cluster.nodes");
  EXPECT_EQ(root.find("cluster")->find("nic")->find("bandwidth")->scalar, "25 GB/s");
  EXPECT_EQ(root.find("empty")->find("a")->scalar, "1");
}

TEST(SetConfigPath, KeepsWhatTheFileHas) {
  ConfigNode root = *parse_yaml("a: {b: 1}", "x.yaml");
  ASSERT_TRUE(set_config_path(root, "a.b", "2").ok());
  ASSERT_TRUE(set_config_path(root, "a.b", "3").ok());
  ASSERT_NE(root.find("a")->find("b")->before, nullptr);
  EXPECT_EQ(root.find("a")->find("b")->before->scalar, "1");
  ASSERT_TRUE(set_config_path(root, "a.c", "2").ok());
  ASSERT_TRUE(set_config_path(root, "a.c", "3").ok());
  EXPECT_EQ(root.find("a")->find("c")->before, nullptr);
}

TEST(SetConfigPath, TakesFlowSyntax) {
  ConfigNode root = yaml_of("{}");
  ASSERT_TRUE(set_config_path(root, "a", "[1, 2]").ok());
  ASSERT_TRUE(set_config_path(root, "b", "{x: {y: [3]}}").ok());
  ASSERT_TRUE(set_config_path(root, "c", "\"8\"").ok());
  ASSERT_TRUE(set_config_path(root, "d", "~").ok());
  EXPECT_EQ(root.find("a")->items[1].scalar, "2");
  const ConfigNode& inner = root.find("b")->find("x")->find("y")->items[0];
  EXPECT_EQ(inner.scalar, "3");
  EXPECT_EQ(inner.where.text(), "--set b");  // every part of the value came from the command line
  EXPECT_TRUE(root.find("c")->quoted);
  EXPECT_EQ(root.find("d")->kind, Kind::null);
}

TEST(SetConfigPath, ReachesItemsOfLists) {
  ConfigNode root = yaml_of("tables: [{rows: 1}, {rows: 2}]\n");
  ASSERT_TRUE(set_config_path(root, "tables.1.rows", "20").ok());
  EXPECT_EQ(root.find("tables")->items[1].find("rows")->scalar, "20");
  ASSERT_TRUE(set_config_path(root, "tables.0", "{rows: 7}").ok());
  EXPECT_EQ(root.find("tables")->items[0].find("rows")->scalar, "7");
}

struct RefusedPath {
  std::string path, value, message;
};
class SetConfigPathRefusal : public testing::TestWithParam<RefusedPath> {};

TEST_P(SetConfigPathRefusal, LeavesTheTreeAsItWas) {
  const auto& [path, value, message] = GetParam();
  ConfigNode root = yaml_of("tables: [{rows: 1}]\nnodes: 4\n");
  EXPECT_EQ(set_config_path(root, path, value).error().text(), message);
  EXPECT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.find("tables")->items[0].entries.size(), 1u);
  EXPECT_EQ(root.find("nodes")->scalar, "4");
}

INSTANTIATE_TEST_SUITE_P(
    All, SetConfigPathRefusal,
    testing::Values(
        RefusedPath{"tables.1.rows", "2",
                    "--set tables.1.rows: found the item '1', expected an item number from 0 to 0"},
        RefusedPath{"tables.x", "2", "--set tables.x: found the item 'x', expected an item number from 0 to 0"},
        RefusedPath{"tables.-1", "2", "--set tables.-1: found the item '-1', expected an item number from 0 to 0"},
        RefusedPath{
            "tables.99999999999999999999", "2",
            "--set tables.99999999999999999999: found the item '99999999999999999999', expected an item number from 0 to 0"},
        RefusedPath{"nodes.x", "2", "--set nodes.x: nodes: found '4', expected a map in which to set 'x' in"},
        RefusedPath{"", "2", "--set : found the key '', expected names joined by dots, e.g. cluster.nodes"},
        RefusedPath{"a..b", "2", "--set a..b: found the key 'a..b', expected names joined by dots, e.g. cluster.nodes"},
        RefusedPath{"a.", "2", "--set a.: found the key 'a.', expected names joined by dots, e.g. cluster.nodes"},
        RefusedPath{"a", "", "--set a: found nothing, expected a value after '='"},
        RefusedPath{"a", "  ", "--set a: found nothing, expected a value after '='"},
        RefusedPath{"a", "[1, 2",
                    "--set a:1:1: found a list as a key or a bracket that is never closed, expected text"},
        RefusedPath{"a", "*x", "--set a:1:1: found an alias, expected a plain value"},
        RefusedPath{"a", "{x: 1, x: 2}",
                    "--set a:1:8: found the key 'x' twice, expected it once; first at --set a:1:2"},
        RefusedPath{"a", "\xff", "--set a:1:1: found the byte 0xff (not UTF-8), expected UTF-8 text"}));

TEST(SetConfigPath, RefusesEndlessPaths) {
  std::string path = "a";
  for (int i = 0; i < 5000; ++i) path += ".a";
  ConfigNode root = yaml_of("{}");
  const auto result = set_config_path(root, path, "1");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "found a key with 5001 parts, expected at most 16");
  EXPECT_LT(result.error().text().size(), 200u);
}

TEST(AtItsPlace, AnErrorAboutAKeyNamesWhereItsValueWasWritten) {
  ConfigNode root = yaml_of("a:\n  b: 1\n  list: [{x: 1}, {x: 2}]\n");
  ASSERT_TRUE(set_config_path(root, "a.c", "7").ok());
  const auto text = [&](const std::string& what, const std::string& where = "") {
    return at_its_place(Error{what, where, ""}, root).text();
  };
  EXPECT_EQ(text("a.b: found 1, expected 2"), "base.yaml:2:6: a.b: found 1, expected 2");
  EXPECT_EQ(text("a.list[1].x: found 2, expected 3"), "base.yaml:3:22: a.list[1].x: found 2, expected 3");
  EXPECT_EQ(text("a.c: found 7, expected 8"), "--set a.c: found 7, expected 8");
  EXPECT_EQ(text("a.b: found 1, expected 2", "other.csv:3"), "other.csv:3: a.b: found 1, expected 2");
  EXPECT_EQ(text("a.d: missing"), "base.yaml:2:3: a.d: missing") << "the section that would hold it";
  EXPECT_EQ(text("a.d.e: missing"), "base.yaml:2:3: a.d.e: missing");
  EXPECT_EQ(text("a.list[2].x: found 9"), "base.yaml:3:9: a.list[2].x: found 9");
  for (const std::string stays : {"a: found nothing", "no key at all", "x.b: y", "", "a.b"})
    EXPECT_EQ(text(stays), stays);
  ASSERT_TRUE(set_config_path(root, "s.x", "7").ok());
  EXPECT_EQ(text("s.y: missing"), "s.y: missing") << "--set s.x is not to blame";
}

}  // namespace
}  // namespace distsim
