// Ranks that are alike are played once: the same timeline as rank by rank, digest included, on random programs; and
// where they may not.
#include "sim/engine/program/alike.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>

#include "programs.hpp"
#include "sim/engine/events/irregular_evaluator.hpp"
#include "sim/engine/program/roles.hpp"
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

/// All ranks over and over, with a group for those of one number.
Program repeated(const Program& p, std::uint32_t each, std::uint32_t times) {
  Program out = widened(p, each);
  const std::uint32_t period = out.ranks;
  out.ranks *= times;
  for (Step& step : out.steps) step.duration = step.duration.with_each(each, times);
  for (Groups& g : out.groups) {
    const Groups once = g;
    for (std::uint32_t time = 1; time < times && g.listed(); ++time) {
      for (const std::uint32_t m : once.members) g.members.push_back(m + time * period);
      for (std::size_t i = 1; i < once.offsets.size(); ++i)
        g.offsets.push_back(once.offsets[i] + time * static_cast<std::uint32_t>(once.members.size()));
    }
  }
  out.groups.push_back({times, period, {}, {}});
  out.add({StreamId(0), Row(7), static_cast<std::uint32_t>(out.groups.size() - 1)}, {});
  out.groups.push_back({out.ranks, 1, {}, {}});
  out.add({StreamId(0), Row(5), static_cast<std::uint32_t>(out.groups.size() - 1)}, {});
  return out;
}

bool varies(const Program& p) {
  return std::any_of(p.steps.begin(), p.steps.end(), [](const Step& s) { return !s.duration.uniform(); });
}

/// Plays a program once for ranks that are alike, and rank by rank: nothing differs, at the ends of `sampled` ranks neither.
/// Returns the makespan; nothing where neither can be played.
std::optional<Duration> played_both_ways(const Program& wide, std::initializer_list<std::uint32_t> sampled) {
  const auto once = evaluate_rows(wide), all = evaluate_rows(spread_out(wide));
  EXPECT_EQ(once.ok(), all.ok());
  if (!once.ok() || !all.ok()) return {};
  EXPECT_EQ(once->digest, all->digest);
  EXPECT_EQ(once->digest, fingerprint_of(*once));
  EXPECT_EQ(once->makespan, all->makespan);
  EXPECT_EQ(evaluate_makespan(wide).value().makespan, all->makespan);
  EXPECT_TRUE(verify(wide, *once).ok()) << verify(wide, *once).error().text();
  EXPECT_TRUE(verify(wide, *all).ok());
  for (StepId s(0); s < wide.steps.end_id(); s = StepId(s.value() + 1)) {
    for (const std::uint32_t r : sampled) EXPECT_EQ(once->end[s].at(r), all->end[s].at(r)) << "rank " << r;
  }
  return all->makespan;
}

TEST(AlikeRanks, PlayedOnceAsRankByRank) {
  Random random(7);
  int checked = 0;
  for (int i = 0; i < 300; ++i) {
    const Program narrow = random_program(random, {.ranks = 12});
    if (!varies(narrow)) continue;
    for (const std::uint32_t each : {2u, 5u, 600u}) {
      const Program wide = widened(narrow, each);
      ASSERT_EQ(alike_ranks(wide).each, each);
      if (!played_both_ways(wide, {0u, each - 1, each, wide.ranks - 1})) continue;
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(AlikeRanks, RepetitionsArePlayedOnce) {
  Random random(8);
  int checked = 0;
  for (int i = 0; i < 200; ++i) {
    const Program narrow = random_program(random, {.ranks = 12});
    if (!varies(narrow)) continue;
    for (const Alike alike : {Alike{1, 3}, Alike{4, 2}, Alike{5, 40}}) {
      const Program wide = repeated(narrow, alike.each, alike.repeats);
      ASSERT_EQ(alike_ranks(wide), alike);
      EXPECT_EQ(places_of(wide, alike).ranks, narrow.ranks);
      const std::uint32_t period = narrow.ranks * alike.each;
      const auto makespan = played_both_ways(wide, {0u, period - 1, period, wide.ranks - 1});
      if (!makespan) continue;
      const Roles roles = roles_of(wide);
      std::uint32_t ranks = 0;
      for (const std::uint32_t n : roles.count) ranks += n;
      EXPECT_EQ(ranks, wide.ranks);
      EXPECT_EQ(evaluate_rows(program_of_roles(wide, roles)).value().makespan, *makespan);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

/// The first pairs are of one time, the last lead from one to the other: 0 of the first waits for 1, of the second for 0.
TEST(AlikeRanks, RepetitionsMustMeetTheSame) {
  Program p;
  p.ranks = 8;
  p.groups = {{1, 1, {0, 2, 4, 6, 8}, {0, 1, 2, 3, 4, 6, 5, 7}}};
  p.add({StreamId(0), Row({10, 20, 30, 40}, 1, 2)}, {});
  p.add({StreamId(0), Row(5), 0}, {});
  EXPECT_EQ(alike_ranks(p), Alike{});
  const Timeline t = evaluate_rows(p).value();
  for (std::uint32_t r = 0; r < 8; ++r)
    EXPECT_EQ(t.end[StepId(1)].at(r), (std::vector{25, 25, 45, 45, 35, 45, 35, 45})[r]) << r;
  EXPECT_TRUE(verify(p, t).ok());
  p.groups = {{1, 1, {0, 2, 4, 6, 8}, {0, 5, 2, 7, 4, 1, 6, 3}}};
  EXPECT_EQ(alike_ranks(p), (Alike{1, 2})) << "0 with 1 and 2 with 3, of the other time";
  EXPECT_EQ(evaluate_rows(p)->end[StepId(1)].at(4), 25);
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
  EXPECT_EQ(alike_ranks(two_blocks({4, 1})).each, 4u) << "inside a block";
  EXPECT_EQ(alike_ranks(two_blocks({2, 2})).each, 4u) << "inside a block";
  EXPECT_EQ(alike_ranks(two_blocks({2, 4})).each, 4u) << "rank i with rank i";
  EXPECT_EQ(alike_ranks(two_blocks({8, 1})).each, 4u) << "all";
  EXPECT_EQ(alike_ranks(two_blocks({1, 1, {0, 2, 4, 6, 8}, {0, 7, 1, 6, 2, 5, 3, 4}})).each, 4u) << "pairs across";
  // Rank 0 waits for the other block, rank 1 does not: they differ from then on.
  const Program mixed = two_blocks({1, 1, {0, 2, 5, 8}, {0, 4, 1, 2, 3, 5, 6, 7}});
  EXPECT_EQ(alike_ranks(mixed).each, 1u);
  const Timeline t = evaluate_rows(mixed).value();
  EXPECT_EQ(t.end[StepId(1)].at(0), 25);
  EXPECT_EQ(t.end[StepId(1)].at(1), 15);
  EXPECT_TRUE(verify(mixed, t).ok());
}

TEST(AlikeRanks, RowsOfDifferentBlocksArePlayedRankByRank) {
  Program p = two_blocks({4, 1});
  p.add({StreamId(0), Row({1, 2, 3, 4}, 2)}, {});
  EXPECT_EQ(alike_ranks(p).each, 1u);
  const Timeline t = evaluate_rows(p).value();
  for (std::uint32_t r = 0; r < 8; ++r) EXPECT_EQ(t.end[StepId(2)].at(r), (r < 4 ? 15 : 25) + r / 2 + 1);
  EXPECT_EQ(evaluate_irregular(expand(p).value()).value().makespan, t.makespan);
}

TEST(AlikeRanks, ARowMustCoverTheRanks) {
  Program p = two_blocks({4, 1});
  for (const Row& row : {Row({1, 2, 3}, 4), Row({1, 2}, 2), Row({1, 2}, 2, 3)}) {
    p.steps[StepId(0)].duration = row;
    EXPECT_FALSE(evaluate_rows(p).ok());
  }
}

}  // namespace
}  // namespace distsim::engine
