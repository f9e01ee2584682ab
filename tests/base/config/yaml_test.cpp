#include <gtest/gtest.h>

#include "base/config/config_node.hpp"
#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim {
namespace {

using Kind = ConfigNode::Kind;
using namespace std::string_literals;

ConfigNode parsed(const std::string& text) {
  auto node = parse_yaml(text, "x.yaml");
  EXPECT_TRUE(node.ok()) << node.error().text();
  return node.ok() ? *node : ConfigNode{};
}

TEST(Yaml, KeepsOrderKindsAndPositions) {
  const ConfigNode root = parsed(
      "cluster:\n"
      "  nodes: 4      # a comment\n"
      "  nics: [25 GB/s, \"12\", ~]\n"
      "title: 'DLRM'\n");
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.where.text(), "x.yaml:1:1");
  EXPECT_EQ(root.entries[0].key, "cluster");
  EXPECT_EQ(root.entries[1].where.text(), "x.yaml:4:1");
  const ConfigNode& cluster = *root.find("cluster");
  EXPECT_EQ(cluster.where.text(), "x.yaml:2:3");
  EXPECT_EQ(cluster.find("nodes")->scalar, "4");
  EXPECT_FALSE(cluster.find("nodes")->quoted);
  EXPECT_EQ(cluster.find("nodes")->where.text(), "x.yaml:2:10");
  const ConfigNode& nics = *cluster.find("nics");
  ASSERT_EQ(nics.items.size(), 3u);
  EXPECT_EQ(nics.where.text(), "x.yaml:3:9");
  EXPECT_EQ(nics.items[0].scalar, "25 GB/s");
  EXPECT_EQ(nics.items[1].scalar, "12");
  EXPECT_TRUE(nics.items[1].quoted);
  EXPECT_EQ(nics.items[1].where.text(), "x.yaml:3:19");
  EXPECT_EQ(nics.items[2].kind, Kind::null);
  EXPECT_TRUE(root.find("title")->quoted);
  EXPECT_EQ(root.find("absent"), nullptr);
  EXPECT_EQ(nics.find("nodes"), nullptr);
}

TEST(Yaml, NullsAreUnquotedTildeNullOrNothing) {
  const ConfigNode root = parsed("a: ~\nb: null\nc:\nd: \"~\"\ne: 'null'\nf: none\n");
  EXPECT_EQ(root.find("a")->kind, Kind::null);
  EXPECT_EQ(root.find("b")->kind, Kind::null);
  EXPECT_EQ(root.find("c")->kind, Kind::null);
  EXPECT_EQ(root.find("c")->where.text(), "x.yaml:3:1");  // where the key stands, not where the next token does
  EXPECT_EQ(root.find("d")->scalar, "~");
  EXPECT_EQ(root.find("e")->scalar, "null");
  EXPECT_EQ(root.find("f")->scalar, "none");
}

TEST(Yaml, TakesWhatYamlOffersForText) {
  EXPECT_EQ(parsed("a: |\n  one\n  two\n").find("a")->scalar, "one\ntwo");
  EXPECT_EQ(parsed("a: >\n  one\n  two\nb: 1\n").find("a")->scalar, "one two\n");
  EXPECT_EQ(parsed("a: one\n  two\n").find("a")->scalar, "one two");
  EXPECT_EQ(parsed("a: \"x\\ty\"\n").find("a")->scalar, "x\ty");
  EXPECT_EQ(parsed("{a: 1, b: [2, {c: 3}]}").find("b")->items[1].find("c")->scalar, "3");
  EXPECT_EQ(parsed("- 1\n- 2\n").items.size(), 2u);
  EXPECT_EQ(parsed("? a\n: 1\n").find("a")->scalar, "1");
}

TEST(Yaml, AnEmptyDocumentIsAnEmptyMap) {
  for (const std::string text : {"", "\n\n", "# only a comment\n", "---\n", "\xEF\xBB\xBF"}) {
    const ConfigNode root = parsed(text);
    EXPECT_EQ(root.kind, Kind::map) << text;
    EXPECT_TRUE(root.entries.empty());
    EXPECT_EQ(root.where.text().substr(0, 7), "x.yaml:");
  }
  EXPECT_EQ(parsed("~").kind, Kind::null);
}

TEST(Yaml, TakesLineEndsMarksAndDocumentMarkers) {
  EXPECT_EQ(parsed("a: 1\r\nb: 2\r\n").find("b")->scalar, "2");
  EXPECT_EQ(parsed("a: 1\r\nb: 2\r\n").find("b")->where.text(), "x.yaml:2:4");
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a: 1\n")
                .find("a")
                ->where.text(),
            "x.yaml:1:4");
  EXPECT_EQ(parsed("---\na: 1\n...\n").find("a")->scalar, "1");
  EXPECT_EQ(parsed("%YAML 1.2\n---\na: 1\n").find("a")->scalar, "1");
  EXPECT_EQ(parsed("a: 1\t# a tab after a value is harmless\n\t\n \t# and so it is here\n").find("a")->scalar, "1");
}

TEST(Yaml, DescribesNodesForMessages) {
  const ConfigNode root = parsed("a: 12 GB\nb: [1, 2, 3]\nc: {d: 1}\ne:\n");
  EXPECT_EQ(root.find("a")->describe(), "'12 GB'");
  EXPECT_EQ(root.find("b")->describe(), "a list of 3");
  EXPECT_EQ(root.find("c")->describe(), "a map");
  EXPECT_EQ(root.find("e")->describe(), "nothing");
}

struct RefusedText {
  std::string text, message;
};

class YamlRefusal : public testing::TestWithParam<RefusedText> {};

TEST_P(YamlRefusal, SaysWhereAndWhy) {
  const auto node = parse_yaml(GetParam().text, "x.yaml");
  ASSERT_FALSE(node.ok()) << GetParam().text;
  EXPECT_EQ(node.error().text(), "x.yaml:" + GetParam().message) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Structure, YamlRefusal,
    testing::Values(
        RefusedText{"a: 1\nb: 2\na: 3\n", "3:1: found the key 'a' twice, expected it once; first at x.yaml:1:1"},
        RefusedText{"m:\n  a: 1\n  \"a\": 3\n", "3:3: found the key 'a' twice, expected it once; first at x.yaml:2:3"},
        RefusedText{"{a: 1, a: 2}", "1:8: found the key 'a' twice, expected it once; first at x.yaml:1:2"},
        RefusedText{"a: &x 1\n", "1:4: found the anchor '&x', expected a plain value"},
        RefusedText{"&x a: 1\n", "1:1: found the anchor '&x', expected a plain value"},
        RefusedText{"a: &x [1, 2]\nb: *x\n", "1:4: found the anchor '&x', expected a plain value"},
        RefusedText{"a: 1\nb: *x\n", "2:4: found an alias, expected a plain value"},
        RefusedText{"a: !!str 1\n", "1:4: found a tag, expected a plain value"},
        RefusedText{"a: !mine {b: 1}\n", "1:4: found a tag, expected a plain value"},
        RefusedText{"a: ! 1\n", "1:4: found a tag, expected a plain value"},
        RefusedText{"a: !<tag:yaml.org,2002:str> 1\n", "1:4: found a tag, expected a plain value"},
        RefusedText{"a: 1\n---\nb: 2\n", "2:1: found a second document, expected a single one"},
        RefusedText{"a: 1\n...\nb: 2\n", "3:1: found 'b:', expected the end of the file"},
        RefusedText{"[1, 2]\nfoo\n", "2:1: found 'foo', expected the end of the file"},
        RefusedText{"[1, 2\n", "1:1: found a list as a key or a bracket that is never closed, expected text"},
        RefusedText{"? [1]\n: 2\n", "1:3: found a list as a key or a bracket that is never closed, expected text"},
        RefusedText{"? {a: 1}\n: 2\n", "1:3: found a map as a key or a bracket that is never closed, expected text"},
        RefusedText{"? - 1\n: 2\n", "1:3: found a list as a key, expected text"},
        RefusedText{"~: 2\n", "1:1: found nothing, expected a key"},
        RefusedText{": 2\n", "1:1: found nothing, expected a key"},
        RefusedText{"a: 1\n" + std::string(1100, 'k') + ": 2\n",
                    "2:1101: found a key of more than 1,024 characters, expected a shorter one"},
        RefusedText{"{a: {" + std::string(1100, 'k') + ": 2}}\n",
                    "1:6: found a key of more than 1,024 characters, expected a shorter one"}));

INSTANTIATE_TEST_SUITE_P(
    Syntax, YamlRefusal,
    testing::Values(
        RefusedText{"a: [1, 2\n",
                    "1:9: found the end of the file, expected valid YAML (',' or ']'); opened at x.yaml:1:4"},
        RefusedText{"a:\n  b: {c: 1,\n",
                    "2:12: found the end of the file, expected valid YAML (',' or '}'); opened at x.yaml:2:6"},
        RefusedText{"a: [1, 2\n\nb:\n  c: 1\n",
                    "3:2: found ':', expected valid YAML (',' or ']'); opened at x.yaml:1:4"},
        RefusedText{"a: [1 2}\n", "1:8: found '}', expected valid YAML (illegal flow end)"},
        RefusedText{"a: [1]]\n", "1:7: found ']', expected valid YAML (illegal flow end)"},
        RefusedText{"a: \"x\nb: 1\n", "2:5: found the end of the file, expected valid YAML (a closing quote)"},
        RefusedText{"a: 'x\n", "1:6: found the end of the file, expected valid YAML (a closing quote)"},
        RefusedText{"a: \"x\" y\n",
                    "1:8: found 'y', expected valid YAML (a key with the same indentation as the keys above it)"},
        RefusedText{"a:\n  b: 1\n c: 2\n",
                    "3:2: found 'c:', expected valid YAML (a key with the same indentation as the keys above it)"},
        RefusedText{"a: 1\n- 2\n",
                    "2:1: found '-', expected valid YAML (a key with the same indentation as the keys above it)"},
        RefusedText{
            "a: b: c\n",
            "1:5: found ':', expected valid YAML (one 'key: value' per line; a value that contains ': ' must be quoted)"},
        RefusedText{
            "a: @x\n",
            "1:4: found '@x', expected valid YAML (another character; text that starts with this one must be quoted)"},
        RefusedText{"a: \"\\z\"\n", "1:7: found '\"', expected valid YAML (unknown escape character: z)"}));

INSTANTIATE_TEST_SUITE_P(
    Bytes, YamlRefusal,
    testing::Values(
        RefusedText{"a: 1\n\tb: 2\n", "2:1: found a tab in the indentation, expected spaces"},
        RefusedText{"a:\n  \tb: 2\n", "2:3: found a tab in the indentation, expected spaces"},
        RefusedText{"a: x\0y\n"s, "1:5: found a NUL byte, expected UTF-8 text"},
        RefusedText{"a: 1\nb: \xff\xfe\n", "2:4: found the byte 0xff (not UTF-8), expected UTF-8 text"},
        RefusedText{"\xff\xfe"
                    "a\0:\0"s,
                    "1:1: found the byte 0xff (not UTF-8), expected UTF-8 text"},                   // UTF-16
        RefusedText{"a: \xC0\x80\n", "1:4: found the byte 0xc0 (not UTF-8), expected UTF-8 text"},  // overlong NUL
        RefusedText{"a: 1\x04\nb: 2\n",
                    "1:5: found the control character 0x04, expected UTF-8 text"},  // yaml-cpp would stop reading here
        RefusedText{"a: 1\rb: 2\n", "1:5: found the control character 0x0d, expected UTF-8 text"},
        RefusedText{"a: \x1b[2J\n", "1:4: found the control character 0x1b, expected UTF-8 text"}));

TEST(YamlLimits, NodesDepthAndBytes) {
  EXPECT_TRUE(parse_yaml("[1, 2]", "x", {.max_nodes = 3}).ok());
  EXPECT_EQ(parse_yaml("[1, 2, 3]", "x", {.max_nodes = 3}).error().text(),
            "x:1:8: found more than 3 values, expected no more than that");
  EXPECT_TRUE(parse_yaml("a: {b: [1]}", "x", {.max_depth = 3}).ok());
  EXPECT_EQ(parse_yaml("a: {b: [1]}", "x", {.max_depth = 2}).error().text(),
            "x:1:8: found nesting deeper than 2 levels, expected less");
  EXPECT_TRUE(parse_yaml("a: 1", "x", {.max_bytes = 4}).ok());
  EXPECT_EQ(parse_yaml("a: 1\n", "x", {.max_bytes = 4}).error().text(), "x: found 5 bytes, expected at most 4");
}

TEST(YamlFile, ReadsOrNamesThePath) {
  const std::string dir = test::scratch_dir("yaml_file");
  ASSERT_TRUE(write_file_atomically(dir + "/a.yaml", "a: 1\nb: [").ok());
  EXPECT_EQ(parse_yaml_file(dir + "/a.yaml").error().where, dir + "/a.yaml:2:5");
  EXPECT_EQ(parse_yaml_file(dir + "/b.yaml").error().text(), dir + "/b.yaml: cannot open (No such file or directory)");
  EXPECT_EQ(parse_yaml_file(dir).error().text(), dir + ": found a folder, expected a file");
  ASSERT_TRUE(write_file_atomically(dir + "/c.yaml", std::string((1 << 20) + 1, '#')).ok());
  EXPECT_EQ(parse_yaml_file(dir + "/c.yaml").error().text(),
            dir + "/c.yaml: found more than 1048576 bytes, expected no more than that");
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace distsim
