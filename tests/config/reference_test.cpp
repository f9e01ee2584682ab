#include "sim/config/reference.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "test_paths.hpp"

namespace distsim::config {
namespace {

TEST(Reference, TheDocumentIsUpToDate) {
  const auto document = read_file(test::root() + "/docs/config_reference.md", 1 << 22);
  ASSERT_TRUE(document.ok()) << document.error().text();
  EXPECT_TRUE(*document == reference_markdown())
      << "docs/config_reference.md is stale; run: distsim list config --markdown > docs/config_reference.md";
}

TEST(Reference, NamesKeysOfEverySectionWithUnitRangeAndDefault) {
  const std::string text = reference_text();
  for (const std::string key :
       {"title", "cluster.system", "cluster.nodes", "cluster.nic.bandwidth", "device.peak", "device.clock.boost",
        "model.name", "model.dlrm.tables[].rows", "framework.gradients.bucket_size", "collectives.use_curves"}) {
    EXPECT_NE(text.find("\n  " + key + "  ("), std::string::npos) << key;
    EXPECT_NE(reference_markdown().find("| `" + key + "` |"), std::string::npos) << key;
  }
  EXPECT_NE(text.find("  cluster.nodes  (integer, 1 .. 1000000, default: 1)\n      Number of nodes.\n"),
            std::string::npos);
}

TEST(Reference, EveryKeyHasADocLine) {
  const std::string markdown = reference_markdown();
  EXPECT_EQ(markdown.find("|  |\n"), std::string::npos) << "a row of the reference ends in an empty cell";
}

TEST(Reference, RowsHaveFiveCells) {
  const std::string markdown = reference_markdown();
  for (std::size_t begin = 0, end; (end = markdown.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = markdown.substr(begin, end - begin);
    if (!line.starts_with("| `")) continue;
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(bars, 6u) << line;
  }
}

TEST(Reference, LinesFitATerminal) {
  const std::string text = reference_text();
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (text[begin] == ' ' && text[begin + 2] != ' ') continue;  // a key with its facts stays on one line
    EXPECT_LE(end - begin, 110u) << text.substr(begin, end - begin);
  }
}

}  // namespace
}  // namespace distsim::config
