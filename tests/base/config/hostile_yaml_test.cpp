// Inputs that are meant to hurt: each ends in an answer of one line, soon. The time limit is generous (a loaded
// machine, sanitizers); what it catches is anything quadratic in a megabyte.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "base/config/config_node.hpp"
#include "base/random.hpp"

namespace distsim {
namespace {

constexpr std::size_t kSize = 1 << 20;
constexpr std::chrono::seconds kLimit{20};

std::string repeated(const std::string& piece, std::size_t bytes = kSize) {
  std::string out;
  while (out.size() + piece.size() <= bytes) out += piece;
  return out;
}

Result<ConfigNode> parse_in_time(const std::string& text) {
  const auto begin = std::chrono::steady_clock::now();
  auto node = parse_yaml(text, "x.yaml");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLimit);
  if (!node.ok()) {
    const std::string line = node.error().text();
    EXPECT_LT(line.size(), 400u);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_TRUE(line.starts_with("x.yaml")) << line;
  }
  return node;
}

TEST(HostileYaml, BillionLaughsEndsAtTheFirstAnchor) {
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string previous(1, static_cast<char>(c - 1));
    text += std::string(1, c) + ": &" + c + " [*" + previous + ", *" + previous + ", *" + previous + ", *" + previous +
            "]\n";
  }
  EXPECT_EQ(parse_in_time(text).error().text(), "x.yaml:1:4: found the anchor '&a', expected a plain value");
}

TEST(HostileYaml, DeepNestingIsRefusedAtTheLimit) {
  EXPECT_EQ(parse_in_time(repeated("- ")).error().text(),
            "x.yaml:1:65: found nesting deeper than 32 levels, expected less");
  EXPECT_EQ(parse_in_time("a: " + repeated("[", 40) + repeated("]", 40)).error().text(),
            "x.yaml:1:35: found nesting deeper than 32 levels, expected less");
  std::string stairs;
  for (int i = 0; i < 40; ++i) stairs += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(parse_in_time(stairs).error().text(), "x.yaml:33:33: found nesting deeper than 32 levels, expected less");
}

TEST(HostileYaml, AMegabyteOfBracketsQuotesDirectivesOrMarkers) {
  for (const std::string piece :
       {"[",           "{", "[a: ", "{a: ", "[[1,", "? ",  "a: ", "!a",    "&a ",   "*a ", "---\n",
        "%YAML 1.2\n", "}", "]",    ":",    "\"'",  "|\n", ">\n", "- a: ", "a:\n ", "- \n"}) {
    EXPECT_FALSE(parse_in_time(repeated(piece)).ok()) << piece;
  }
}

TEST(HostileYaml, AMegabyteOfNothing) {
  for (const std::string piece : {"\n", " ", "#", "# x\n", "\r\n", "\t\n"})
    EXPECT_TRUE(parse_in_time(repeated(piece)).ok()) << piece;
}

TEST(HostileYaml, AMegabyteOfText) {
  EXPECT_TRUE(parse_in_time("a: " + repeated("x ", kSize - 4)).ok());
  EXPECT_TRUE(parse_in_time("a: |\n" + repeated(" x\n", kSize - 8)).ok());
  EXPECT_TRUE(parse_in_time("a: \"" + repeated("x", kSize - 8) + "\"").ok());
  EXPECT_FALSE(parse_in_time("a: \"" + repeated("x", kSize - 8)).ok());
  EXPECT_FALSE(parse_in_time(repeated("\xC2\xB5") + "\xC2").ok());
}

TEST(HostileYaml, TooManyValues) {
  const auto flow = parse_in_time("[" + repeated("1,", kSize - 2) + "]");
  ASSERT_FALSE(flow.ok());
  EXPECT_EQ(flow.error().what, "found more than 200000 values, expected no more than that");
}

TEST(HostileYaml, ManyKeysStayLinear) {
  std::string text;
  for (int i = 0; i < 90'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  ConfigNode base = *parse_in_time(text);
  const ConfigNode over = base;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(merge_config(base, over).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLimit);
  EXPECT_EQ(base.entries.size(), over.entries.size());
}

/// Random edits of a valid file: either a tree or one line, never a crash, an exception or a hang.
TEST(HostileYaml, RandomEdits) {
  const std::string valid =
      "title: DLRM\ncluster: {system: dgx_a100_80gb, nodes: 4}\nmodel:\n  name: dlrm\n  tables:\n  - {rows: 10, dim: 128}\n  - rows: 20\n"
      "    alpha: 1.05\n  text: |\n    one\n    two\n  quoted: \"a\\tb\"\n";
  static constexpr std::string_view kSpice = "[]{}:,-?#&*!|>'\"%@`\n\t \\~0aé\x01\xff";
  Random random(7);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  for (int round = 0; round < 20'000 && std::chrono::steady_clock::now() < end; ++round) {
    std::string text = valid;
    for (std::uint64_t edits = 1 + random.below(6); edits > 0; --edits) {
      const std::size_t at = random.below(text.size() + 1);
      switch (random.below(4)) {
        case 0:
          text.insert(at, 1, kSpice[random.below(kSpice.size())]);
          break;
        case 1:
          text.erase(at, random.below(8));
          break;
        case 2:
          text.insert(at, text.substr(random.below(text.size() + 1), random.below(30)));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    (void)parse_in_time(text);  // either outcome is fine
  }
}

TEST(HostileYaml, CutAtEveryByte) {
  const std::string valid = "a: {b: [1, \"2\", '3'], c: |\n  x\n}\n";
  const std::string block = "a:\n  b: \"x\"\n  c:\n  - 1\n  - {d: [e, f]}\nµ: é\n";
  for (const std::string& text : {valid, block}) {
    for (std::size_t n = 0; n <= text.size(); ++n) (void)parse_in_time(text.substr(0, n));
  }
  EXPECT_TRUE(parse_in_time(block).ok());
}

}  // namespace
}  // namespace distsim
