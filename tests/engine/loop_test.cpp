// Loops give the times of their rounds written out, on every rank, whatever their size and in every vector unit.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/engine/rows/loop_player.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

/// Random steps of `ranks` ranks on 3 streams, some of which meet in pairs, in halves or all together.
Loop random_loop(Random& random, std::uint32_t ranks) {
  Loop loop;
  loop.ranks = ranks;
  loop.streams = 3;
  loop.groups = {Groups{}, Groups{ranks, 1, {}, {}}, Groups{}};
  for (std::uint32_t first = 0; ranks % 2 == 0 && first < ranks; first += 2) {
    if (first == 0) loop.groups[2].offsets = {0};
    loop.groups[2].members.insert(loop.groups[2].members.end(), {first, first + 1});
    loop.groups[2].offsets.push_back(first + 2);
  }
  if (ranks % 2 == 0) loop.groups.push_back(Groups{2, ranks / 2, {}, {}});
  for (int i = 0; i < 8; ++i) {
    std::vector<std::int64_t> numbers;
    for (std::uint32_t r = 0; r < ranks; ++r) numbers.push_back(static_cast<std::int64_t>(random.below(5)) * 1000);
    loop.rows.push_back(i % 3 == 0 ? Row(numbers.front()) : Row(std::move(numbers)));
  }
  for (std::uint32_t s = 0; s < 40; ++s) {
    std::vector<StepId> waits;
    for (std::uint64_t n = random.below(3); n > 0 && s > 0; --n)
      waits.emplace_back(static_cast<std::uint32_t>(random.below(s)));
    const std::uint64_t group = random.below(2 * loop.groups.size());
    loop.add({StreamId(static_cast<std::uint32_t>(random.below(3))),
              static_cast<std::uint32_t>(random.below(loop.rows.size())),
              group < loop.groups.size() ? static_cast<std::uint32_t>(group) : Step::kNoGroup},
             waits);
  }
  loop.carried = {{StepId(0), StepId(39)}, {StepId(7), StepId(20)}};
  return loop;
}

Program written_out(const Loop& loop, std::uint32_t rounds) {
  Program out;
  out.ranks = loop.ranks;
  out.streams = loop.streams;
  out.groups = loop.groups;
  const auto count = static_cast<std::uint32_t>(loop.steps.size());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (StepId s(0); s < loop.steps.end_id(); s = StepId(s.value() + 1)) {
      std::vector<StepId> waits;
      for (const StepId w : loop.waits_of(s)) waits.emplace_back(w.value() + round * count);
      for (const auto& [waiting, earlier] : loop.carried)
        if (waiting == s && round > 0) waits.emplace_back(earlier.value() + (round - 1) * count);
      out.add({loop.steps[s].stream, loop.rows[loop.steps[s].row], loop.steps[s].group}, waits);
    }
  }
  return out;
}

void expect_times(const LoopPlayer& player, const Timeline& timeline) {
  for (StepId s(0); s < timeline.end.end_id(); s = StepId(s.value() + 1)) {
    std::int64_t last = 0;
    for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
      ASSERT_EQ(player.ready(s, r), timeline.ready[s].at(r)) << s.value() << " on rank " << r;
      ASSERT_EQ(player.start(s, r), timeline.start[s].at(r)) << s.value() << " on rank " << r;
      ASSERT_EQ(player.end(s, r), timeline.end[s].at(r)) << s.value() << " on rank " << r;
      last = std::max(last, timeline.end[s].at(r));
      const StepId input = player.input_ending_at(s, r, player.ready(s, r));
      ASSERT_EQ(input.valid() ? player.end(input, r) : 0, player.ready(s, r));
    }
    ASSERT_EQ(player.last_end(s), last);
  }
  const std::uint32_t before = (player.rounds() - 1) * player.steps_of_round();
  for (std::uint32_t s = 0; s < player.steps_of_round(); ++s) {
    for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
      ASSERT_EQ(player.last_ready_row(StepId(s))[r], timeline.ready[StepId(before + s)].at(r));
      ASSERT_EQ(player.last_start_row(StepId(s))[r], timeline.start[StepId(before + s)].at(r));
      ASSERT_EQ(player.last_end_row(StepId(s))[r], timeline.end[StepId(before + s)].at(r));
    }
  }
}

TEST(Loop, HasTheTimesOfItsRoundsWrittenOut) {
  Random random(15);
  for (const std::uint32_t ranks : {1u, 2u, 3u, 8u, 9u, 16u, 20u}) {
    for (int i = 0; i < 20; ++i) {
      const Loop loop = random_loop(random, ranks);
      LoopPlayer player(loop, 3);
      ASSERT_TRUE(player.play());
      const auto timeline = evaluate_rows(written_out(loop, 3));
      ASSERT_TRUE(timeline.ok()) << timeline.error().text();
      expect_times(player, *timeline);
    }
  }
}

TEST(Loop, PlaysWithOtherDurationsAndWithItsOwnAgain) {
  Random random(16);
  const Loop loop = random_loop(random, 6);
  LoopPlayer player(loop, 2);
  ASSERT_TRUE(player.play());
  const std::int64_t before = player.last_end(StepId(79));
  Loop longer = loop;
  longer.rows.emplace_back(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6000});
  longer.rows.emplace_back(0);
  longer.steps[StepId(3)].row = 8;
  longer.steps[StepId(5)].row = 9;
  player.set_duration(StepId(3), std::vector<std::int64_t>{1, 2, 3, 4, 5, 6000});
  player.set_nothing(StepId(5));
  ASSERT_TRUE(player.play());
  expect_times(player, *evaluate_rows(written_out(longer, 2)));
  player.reset_duration(StepId(3));
  player.reset_duration(StepId(5));
  ASSERT_TRUE(player.play());
  EXPECT_EQ(player.last_end(StepId(79)), before);
}

TEST(Loop, RolesPlayForTheirRanks) {
  Random random(17);
  for (int i = 0; i < 20; ++i) {
    Loop loop = random_loop(random, 8);
    for (Row& row : loop.rows) {  // ranks 2 k and 2 k + 1 take the same
      if (row.uniform()) continue;
      std::vector<std::int64_t> pairs;
      for (std::uint32_t r = 0; r < 8; ++r) pairs.push_back(row.at(r / 2 * 2));
      row = Row(std::move(pairs));
    }
    loop.groups.resize(3);
    for (Loop::Step& step : loop.steps)
      if (step.group != Step::kNoGroup && step.group >= 3) step.group = 0;
    const Roles roles = roles_of(loop);
    EXPECT_LE(roles.size(), 4u);
    const Loop reduced = loop_of_roles(loop, roles);
    LoopPlayer all(loop, 3), few(reduced, 3);
    ASSERT_TRUE(all.play() && few.play());
    for (std::uint32_t s = 0; s < 120; ++s)
      for (std::uint32_t r = 0; r < 8; ++r) ASSERT_EQ(all.end(StepId(s), r), few.end(StepId(s), roles.of(r)));
  }
}

TEST(Loop, NoticesTimesBeyondTheLimit) {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 61}) {
    for (const std::uint32_t ranks : {1u, 5u, 12u}) {
      Loop loop;
      loop.ranks = ranks;
      loop.rows = {Row(bad)};
      loop.add({StreamId(0), 0, Step::kNoGroup}, {});
      LoopPlayer player(loop, 3);
      EXPECT_FALSE(player.play()) << bad << " on " << ranks;
    }
  }
}

}  // namespace
}  // namespace distsim::engine
