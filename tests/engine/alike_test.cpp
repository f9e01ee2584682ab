// Ranks that are alike are played once: the same timeline as rank by rank, digest included, on random programs; and
// where they may not.
#include "sim/engine/program/alike.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/engine/timeline/fingerprint.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::engine {
namespace {

/// Every rank of a program becomes `each` neighbours that do the same; its groups, groups of their ranks of one number.
Program widened(const Program& p, std::uint32_t each) {
  Program out = p;
  out.ranks = p.ranks * each;
  for (Step& step : out.steps) step.duration = step.duration.with_each(each);
  for (Groups& g : out.groups) {
    if (!g.listed()) {
      g.stride *= each;
      continue;
    }
    Groups wide;
    wide.offsets = {0};
    for (std::size_t i = 0; i + 1 < g.offsets.size(); ++i) {
      for (std::uint32_t k = 0; k < each; ++k) {
        for (std::uint32_t m = g.offsets[i]; m < g.offsets[i + 1]; ++m) wide.members.push_back(g.members[m] * each + k);
        wide.offsets.push_back(static_cast<std::uint32_t>(wide.members.size()));
      }
    }
    g = wide;
  }
  return out;
}

bool varies(const Program& p) {
  return std::any_of(p.steps.begin(), p.steps.end(), [](const Step& s) { return !s.duration.uniform(); });
}

TEST(AlikeRanks, PlayedOnceAsRankByRank) {
  Random random(7);
  int checked = 0;
  for (int i = 0; i < 300; ++i) {
    const Program narrow = random_program(random, {.ranks = 12});
    if (!varies(narrow)) continue;
    for (const std::uint32_t each : {2u, 5u, 600u}) {
      const Program wide = widened(narrow, each);
      ASSERT_EQ(alike_ranks(wide), each);
      const auto once = evaluate_rows(wide), all = evaluate_rows(spread_out(wide));
      ASSERT_EQ(once.ok(), all.ok());
      if (!once.ok()) continue;
      EXPECT_EQ(once->digest, all->digest);
      EXPECT_EQ(once->digest, fingerprint_of(*once));
      EXPECT_EQ(once->makespan, all->makespan);
      EXPECT_EQ(evaluate_makespan(wide).value().makespan, all->makespan);
      EXPECT_TRUE(verify(wide, *once).ok()) << verify(wide, *once).error().text();
      EXPECT_TRUE(verify(wide, *all).ok());
      for (StepId s(0); s < wide.steps.end_id(); s = StepId(s.value() + 1)) {
        for (const std::uint32_t r : {0u, each - 1, each, wide.ranks - 1})
          ASSERT_EQ(once->end[s].at(r), all->end[s].at(r));
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(AlikeRanks, VerifyFindsAWrongTime) {
  Random random(11);
  Program wide = widened(random_program(random, {.ranks = 12}), 4);
  while (!varies(wide)) wide = widened(random_program(random, {.ranks = 12}), 4);
  Timeline t = evaluate_rows(wide).value();
  const auto last = StepId(static_cast<std::uint32_t>(t.end.size()) - 1);
  std::vector<std::int64_t> values;
  for (std::uint32_t r = 0; r < wide.ranks; r += 4) values.push_back(t.end[last].at(r));
  values.back() += 1;
  t.end[last] = Row(std::move(values), 4);
  t.digest = fingerprint_of(t);
  EXPECT_FALSE(verify(wide, t).ok());
}

Program two_blocks(Groups groups) {
  Program p;
  p.ranks = 8;
  p.groups = {std::move(groups)};
  p.add({StreamId(0), Row({10, 20}, 4)}, {});
  p.add({StreamId(0), Row(5), 0}, {});
  return p;
}

TEST(AlikeRanks, GroupsMustLeadToTheSameBlocks) {
  EXPECT_EQ(alike_ranks(two_blocks({4, 1})), 4u) << "inside a block";
  EXPECT_EQ(alike_ranks(two_blocks({2, 2})), 4u) << "inside a block";
  EXPECT_EQ(alike_ranks(two_blocks({2, 4})), 4u) << "rank i with rank i";
  EXPECT_EQ(alike_ranks(two_blocks({8, 1})), 4u) << "all";
  EXPECT_EQ(alike_ranks(two_blocks({1, 1, {0, 2, 4, 6, 8}, {0, 7, 1, 6, 2, 5, 3, 4}})), 4u) << "pairs across";
  // Rank 0 waits for the other block, rank 1 does not: they differ from then on.
  const Program mixed = two_blocks({1, 1, {0, 2, 5, 8}, {0, 4, 1, 2, 3, 5, 6, 7}});
  EXPECT_EQ(alike_ranks(mixed), 1u);
  const Timeline t = evaluate_rows(mixed).value();
  EXPECT_EQ(t.end[StepId(1)].at(0), 25);
  EXPECT_EQ(t.end[StepId(1)].at(1), 15);
  EXPECT_TRUE(verify(mixed, t).ok());
}

TEST(AlikeRanks, RowsOfDifferentBlocksArePlayedRankByRank) {
  Program p = two_blocks({4, 1});
  p.add({StreamId(0), Row({1, 2, 3, 4}, 2)}, {});
  EXPECT_EQ(alike_ranks(p), 1u);
  const Timeline t = evaluate_rows(p).value();
  for (std::uint32_t r = 0; r < 8; ++r) EXPECT_EQ(t.end[StepId(2)].at(r), (r < 4 ? 15 : 25) + r / 2 + 1);
  EXPECT_EQ(evaluate_irregular(expand(p).value()).value().makespan, t.makespan);
}

TEST(AlikeRanks, ARowMustCoverTheRanks) {
  Program p = two_blocks({4, 1});
  p.steps[StepId(0)].duration = Row({1, 2, 3}, 4);
  EXPECT_FALSE(evaluate_rows(p).ok());
}

}  // namespace
}  // namespace distsim::engine
