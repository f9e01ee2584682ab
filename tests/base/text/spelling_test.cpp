#include "base/text/spelling.hpp"

#include <gtest/gtest.h>

namespace distsim {
namespace {

const std::vector<std::string> kKeys{"nodes", "gpus_per_node", "bandwidth", "latency", "oversubscription"};

TEST(NearestSpelling, FindsTypingErrors) {
  EXPECT_EQ(nearest_spelling("nods", kKeys), "nodes");    // one letter missing
  EXPECT_EQ(nearest_spelling("nodees", kKeys), "nodes");  // one too many
  EXPECT_EQ(nearest_spelling("nodse", kKeys), "nodes");   // two swapped: one step
  EXPECT_EQ(nearest_spelling("bandwith", kKeys), "bandwidth");
  EXPECT_EQ(nearest_spelling("GPUS_PER_NODE", kKeys), "gpus_per_node");
  EXPECT_EQ(nearest_spelling("gpus-per-node", kKeys), "gpus_per_node");
}

TEST(NearestSpelling, StopsAtAThirdOfTheWordAndAtLeastTwo) {
  EXPECT_EQ(nearest_spelling("abcdefghi", {"abcdefxyz"}), "abcdefxyz");  // 3 of 9
  EXPECT_EQ(nearest_spelling("abcdefghi", {"abcdewxyz"}), "");           // 4 of 9
  EXPECT_EQ(nearest_spelling("abcd", {"abxy"}), "abxy");                 // 2, although a third of 4 is 1
  EXPECT_EQ(nearest_spelling("abcd", {"axyz"}), "");
}

TEST(NearestSpelling, NeverReplacesAWholeWord) {
  EXPECT_EQ(nearest_spelling("ab", {"xy"}), "");
  EXPECT_EQ(nearest_spelling("x", {"y"}), "");
  EXPECT_EQ(nearest_spelling("", kKeys), "");
  EXPECT_EQ(nearest_spelling("nodes", {}), "");
}

TEST(NearestSpelling, TiesGoToTheFirst) {
  EXPECT_EQ(nearest_spelling("fp17", {"fp16", "fp18"}), "fp16");
  EXPECT_EQ(nearest_spelling("fp17", {"fp18", "fp16"}), "fp18");
}

TEST(NearestSpelling, TakesTheBeginningOfALongerName) {
  EXPECT_EQ(nearest_spelling("dgx_a10", {"dgx1_v100", "dgx_a100_40gb", "dgx_a100_80gb"}), "dgx_a100_40gb");
  EXPECT_EQ(nearest_spelling("dg", {"dgx_a100_40gb"}), "");
}

TEST(NearestSpelling, DoesNotSpendTimeOnHugeWords) {
  EXPECT_EQ(nearest_spelling(std::string(1 << 20, 'n'), {std::string(1 << 20, 'n')}), "");
}

TEST(SpellingHint, AsksOrLists) {
  EXPECT_EQ(spelling_hint("nods", kKeys), "did you mean 'nodes'?");
  EXPECT_EQ(spelling_hint("zzzzzzz", {"a", "b"}), "one of a, b");
  EXPECT_EQ(spelling_hint("zzzzzzz", {}), "");
  const std::vector<std::string> many{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"};
  EXPECT_EQ(spelling_hint("zzzzzzz", many), "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...");
}

}  // namespace
}  // namespace distsim
