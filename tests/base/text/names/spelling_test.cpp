#include "base/text/names/spelling.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"

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

/// To rename a column of milliseconds would be wrong by a thousand.
TEST(DidYouMean, SaysWhereTheUnitIsAnother) {
  const std::string other_unit = "' is in another unit: convert the numbers, not only the name";
  for (const auto& [word, nearest] : {std::pair("latency_us", "latency_ms"),
                                      {"latency_us", "latncy_s"},
                                      {"sm_clock_mhz", "sm_clock_GHz"},
                                      {"size_kb", "size_mb"}}) {
    EXPECT_EQ(did_you_mean(word, nearest), "'" + std::string(nearest) + other_unit);
    EXPECT_EQ(did_you_mean(nearest, word), "'" + std::string(word) + other_unit);
  }
  for (const auto& [word, nearest] :
       {std::pair("latncy_us", "latency_us"), {"latency", "latency_us"}, {"pad_h", "pad_w"}, {"nods", "nodes"}})
    EXPECT_EQ(did_you_mean(word, nearest), "did you mean '" + std::string(nearest) + "'?");
  EXPECT_EQ(did_you_mean("nods", ""), "");
  EXPECT_EQ(spelling_hint("latency_us", {"gpu", "latency_ms"}), "'latency_ms" + other_unit);
}

TEST(NearestSpelling, DoesNotSpendTimeOnHugeWords) {
  EXPECT_EQ(nearest_spelling(std::string(1 << 20, 'n'), {std::string(1 << 20, 'n')}), "");
}

/// The definition of the distance, without bounds and without a table.
std::size_t plain_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const auto cut = [](std::string_view s, std::size_t n) { return s.substr(0, s.size() - n); };
  std::size_t least = std::min({plain_distance(cut(a, 1), b) + 1, plain_distance(a, cut(b, 1)) + 1,
                                plain_distance(cut(a, 1), cut(b, 1)) + (a.back() == b.back() ? 0 : 1)});
  const bool swapped = a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && a[a.size() - 2] == b.back();
  if (swapped) least = std::min(least, plain_distance(cut(a, 2), cut(b, 2)) + 1);
  return least;
}

TEST(NearestSpelling, IsThatOfTheDefinition) {
  Random random(11);
  const auto word = [&] {
    std::string text(1 + random.below(6), 'a');
    for (char& c : text) c = static_cast<char>('a' + random.below(3));
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string wanted = word() + "c";
    const std::vector<std::string> candidates{word(), word(), word()};
    std::size_t best = std::min(std::max<std::size_t>(2, wanted.size() / 3), wanted.size() - 1) + 1;
    std::string nearest;
    for (const std::string& c : candidates) {
      if (const std::size_t d = plain_distance(wanted, c); d < best) {
        best = d;
        nearest = c;
      }
    }
    for (const std::string& c : candidates) {  // of those as near, one that is only longer
      const bool as_near = !nearest.empty() && plain_distance(wanted, c) == best;
      if (as_near && c.starts_with(wanted) && !nearest.starts_with(wanted)) nearest = c;
    }
    if (!nearest.empty()) {
      ASSERT_EQ(nearest_spelling(wanted, candidates), nearest)
          << wanted << ": " << candidates[0] << ", " << candidates[1] << ", " << candidates[2];
    }
  }
}

TEST(SpellingHint, AsksOrLists) {
  EXPECT_EQ(spelling_hint("nods", kKeys), "did you mean 'nodes'?");
  EXPECT_EQ(spelling_hint("zzzzzzz", {"a", "b"}), "one of a, b");
  EXPECT_EQ(spelling_hint("zzzzzzz", {}), "");
  EXPECT_EQ(spelling_hint("h100", {"a10", "h100_nvl", "h100_pcie", "h200"}), "one of h100_nvl, h100_pcie");
  EXPECT_EQ(spelling_hint("h10", {"a10", "h100_nvl", "h200"}), "did you mean 'a10'?");
  EXPECT_EQ(spelling_hint("mi300", {"mi100", "mi300x"}), "did you mean 'mi300x'?");
  const std::vector<std::string> many{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"};
  EXPECT_EQ(spelling_hint("zzzzzzz", many), "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...");
}

}  // namespace
}  // namespace distsim
