#include "sim/web/answers/yaml_edit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/config/config_node.hpp"
#include "sim/study/plan/experiment_file.hpp"

namespace distsim::web {
namespace {

std::string after(const std::string& text, const std::string& key, std::optional<std::string> value) {
  const auto out = edited(text, "x.yaml", {{key, std::move(value)}});
  return out.ok() ? *out : "error: " + out.error().text();
}

const std::string kText =
    "# four nodes\n"
    "title: A job\n"
    "\n"
    "cluster:\n"
    "  system: dgx   # its file\n"
    "  nodes: 4      # of eight GPUs\n"
    "model: {name: dlrm, global_batch: 65536}  # in a row\n";

TEST(YamlEdit, ChangesAValueAndNothingElse) {
  std::string wanted = kText;
  wanted.replace(wanted.find("nodes: 4"), 8, "nodes: 16");
  EXPECT_EQ(after(kText, "cluster.nodes", "16"), wanted);
  wanted = kText;
  wanted.replace(wanted.find("65536"), 5, "32768");
  EXPECT_EQ(after(kText, "model.global_batch", "32768"), wanted);
  EXPECT_EQ(after("title: \"old name\"  # why\n", "title", "new"), "title: new  # why\n");
}

TEST(YamlEdit, AddsAKeyWhereItBelongs) {
  std::string wanted = kText;
  const std::string line = "  nodes: 4      # of eight GPUs\n";
  wanted.insert(wanted.find(line) + line.size(), "  nic:\n    bandwidth: 25 GB/s\n");
  EXPECT_EQ(after(kText, "cluster.nic.bandwidth", "25 GB/s"), wanted);
  wanted = kText;
  wanted.insert(wanted.find("name: dlrm"), "precision: bf16, ");
  EXPECT_EQ(after(kText, "model.precision", "bf16"), wanted);
  EXPECT_EQ(after(kText, "engine.contention", "true"), kText + "engine:\n  contention: true\n");
  EXPECT_EQ(after("", "cluster.nodes", "2"), "cluster:\n  nodes: 2\n");
  EXPECT_EQ(after("a: 1", "b", "2"), "a: 1\nb: 2\n");
}

TEST(YamlEdit, TakesAKeyOut) {
  std::string wanted = kText;
  const std::string line = "  nodes: 4      # of eight GPUs\n";
  wanted.erase(wanted.find(line), line.size());
  EXPECT_EQ(after(kText, "cluster.nodes", std::nullopt), wanted);
  EXPECT_EQ(after(kText, "cluster.nic", std::nullopt), kText);
  EXPECT_EQ(after("a: {b: {c: 1}}\nd: 2\n", "a.b.c", std::nullopt), "d: 2\n");
}

TEST(YamlEdit, WritesAnewWhatItCannotChangeInPlace) {
  const std::string text = "# lost\nmodel:\n  tables:\n    - {rows: 5}\n    - {rows: 6}\n";
  EXPECT_EQ(after(text, "model.tables.1.rows", "7"), "model:\n  tables: [{rows: 5}, {rows: 7}]\n");
}

TEST(YamlEdit, RefusesWhatIsNoValueOrNoText) {
  EXPECT_TRUE(after(kText, "cluster.nodes", "[}").starts_with("error: "));
  EXPECT_TRUE(after(kText, "cluster.nodes", "1\nmodel: {}").starts_with("error: "));
  EXPECT_TRUE(after("a: [", "b", "1").starts_with("error: x.yaml:1"));
  EXPECT_TRUE(after(kText, "", "1").starts_with("error: "));
  EXPECT_TRUE(after(kText, "cluster..nodes", "1").starts_with("error: "));
}

/// Whatever the text looks like, the tree is the one that was meant.
TEST(YamlEdit, MeansWhatSetMeans) {
  const std::vector<std::string> texts{kText,
                                       "cluster: {nodes: 4}\n",
                                       "cluster:\n    nodes: '4'\n    system: \"a # b\"\nmodel:\n    name: x",
                                       "{cluster: {nodes: 4}, model: {name: x}}\n",
                                       "cluster:\n  nodes:\n    4\nmodel:\n  name: >-\n    folded\n    text\n",
                                       "model:\n  name: nodes\n  nodes: name\n"};
  for (const std::string& text : texts) {
    for (const char* key : {"cluster.nodes", "model.name", "model.dlrm.bottom", "engine.jobs", "cluster.nic.count"}) {
      auto wanted = parse_yaml(text, "x.yaml");
      ASSERT_TRUE(wanted.ok());
      ASSERT_TRUE(set_config_path(*wanted, key, "17").ok());
      const auto found = parse_yaml(after(text, key, "17"), "x.yaml");
      ASSERT_TRUE(found.ok()) << text << key;
      const auto sorted = [](std::string lines) {
        std::ranges::sort(lines);
        return lines;
      };
      EXPECT_EQ(sorted(study::yaml_of(*found)), sorted(study::yaml_of(*wanted))) << text << key;
    }
  }
}

}  // namespace
}  // namespace distsim::web
