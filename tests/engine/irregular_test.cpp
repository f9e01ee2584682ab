// Irregular programs: on paper, against the rescanning oracle (deadlocks included), and against the row evaluator.
#include <gtest/gtest.h>

#include "irregular_oracle.hpp"
#include "programs.hpp"
#include "sanitizers.hpp"
#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::engine {
namespace {

RankStep step(std::uint32_t rank, std::int64_t duration, std::uint32_t meeting = RankStep::kAlone,
              std::uint32_t stream = 0) {
  return {RankId(rank), StreamId(stream), duration, meeting};
}

TEST(Irregular, ThreeRanksOnPaper) {
  // rank 0: work 5, pair with rank 1 (2).            starts at max(5, 3) = 5, ends 7
  // rank 1: work 3, pair with rank 0 (2), pair with rank 2 (4).   ends 7; second pair starts at max(7, 9) = 9, ends 13
  // rank 2: work 9, pair with rank 1 (4).            ends 13
  IrregularProgram p{3, 1};
  p.meeting_sizes = {2, 2};
  p.add(step(0, 5));
  p.add(step(1, 3));
  p.add(step(2, 9));
  const StepId pair01 = p.add(step(0, 2, 0));
  const StepId pair10 = p.add(step(1, 2, 0));
  const StepId pair12 = p.add(step(1, 4, 1));
  const StepId pair21 = p.add(step(2, 4, 1));
  const auto t = evaluate_irregular(p);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->steps[pair01], (StepTimes{5, 5, 7}));
  EXPECT_EQ(t->steps[pair10], (StepTimes{3, 5, 7}));
  EXPECT_EQ(t->steps[pair12], (StepTimes{7, 9, 13}));
  EXPECT_EQ(t->steps[pair21], (StepTimes{9, 9, 13}));
  EXPECT_EQ(t->makespan.ps(), 13);
}

TEST(Irregular, WaitsMayCrossRanksAndPointForward) {
  IrregularProgram p{2, 1};
  const StepId later(1);
  p.add(step(0, 1), std::span(&later, 1));
  p.add(step(1, 10));
  const auto t = evaluate_irregular(p);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->steps[StepId(0)], (StepTimes{10, 10, 11}));
}

TEST(Irregular, TwoRanksInOppositeOrderDeadlock) {
  // Rank 0 meets A then B, rank 1 meets B then A.
  IrregularProgram p{2, 1};
  p.meeting_sizes = {2, 2};
  p.add(step(0, 1, 0));
  p.add(step(0, 1, 1));
  p.add(step(1, 1, 1));
  p.add(step(1, 1, 0));
  const auto t = evaluate_irregular(p);
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(
      t.error().what,
      "deadlock: step 0 (rank 0, stream 0) waits for step 3 (rank 1, stream 0) waits for step 2 (rank 1, stream 0) waits for "
      "step 1 (rank 0, stream 0) waits for step 0 (rank 0, stream 0)");
  EXPECT_EQ(find_deadlock(p), (std::vector<StepId>{StepId(0), StepId(3), StepId(2), StepId(1)}));
}

TEST(Irregular, AStepThatWaitsForItselfIsADeadlock) {
  IrregularProgram p{1, 1};
  const StepId self(0);
  p.add(step(0, 1), std::span(&self, 1));
  EXPECT_EQ(find_deadlock(p), std::vector<StepId>{self});
}

TEST(Irregular, LongCyclesAreCutInTheMessage) {
  IrregularProgram p{1, 100};
  for (std::uint32_t s = 0; s < 100; ++s) {
    const StepId next((s + 1) % 100);
    p.add(step(0, 1, RankStep::kAlone, s), std::span(&next, 1));
  }
  EXPECT_EQ(find_deadlock(p).size(), 100u);
  EXPECT_NE(evaluate_irregular(p).error().what.find("(100 steps in total)"), std::string::npos);
}

TEST(Irregular, RefusesInvalidPrograms) {
  const auto refused = [](auto change, const std::string& message) {
    IrregularProgram p{2, 1};
    p.meeting_sizes = {2};
    p.add(step(0, 1, 0));
    p.add(step(1, 1, 0));
    ASSERT_TRUE(evaluate_irregular(p).ok());
    change(p);
    const auto t = evaluate_irregular(p);
    ASSERT_FALSE(t.ok()) << message;
    EXPECT_NE(t.error().text().find(message), std::string::npos) << t.error().text();
  };
  const StepId outside(9), none;
  refused([](auto& p) { p.ranks = 0; }, "program.ranks");
  refused([](auto& p) { p.streams = 0; }, "program.streams");
  refused([](auto& p) { p.ranks = 1; }, "step 1.rank: found 1, expected a rank below 1");
  refused([](auto& p) { p.steps[StepId(0)].stream = StreamId(1); }, "step 0.stream: found 1");
  refused([](auto& p) { p.steps[StepId(0)].meeting = 1; }, "step 0.meeting: found 1, expected one of 1 meetings");
  refused([](auto& p) { p.steps[StepId(0)].duration = -1; }, "step 0.duration: found -1 ps");
  refused([](auto& p) { p.steps[StepId(0)].duration = INT64_MAX; }, "less than 2^62 ps");
  refused([](auto& p) { p.meeting_sizes[0] = 3; }, "meeting 0: found 2 members, expected 3");
  refused([](auto& p) { p.meeting_sizes.push_back(1); }, "meeting 1: found 0 members, expected 1");
  refused([](auto& p) { p.wait_offsets.pop_back(); }, "program.wait_offsets");
  refused([&](auto& p) { p.add(step(0, 1), std::span(&outside, 1)); }, "step 2.waits: found step 9");
  refused([&](auto& p) { p.add(step(0, 1), std::span(&none, 1)); }, "step 2.waits: found step 4294967295");
  refused(
      [](auto& p) {
        p.add(step(0, (std::int64_t{1} << 62) - 1));
        p.add(step(0, (std::int64_t{1} << 62) - 1));
      },
      "beyond the limit");
}

/// Few ranks, waits of any direction, meetings of two or three steps: about half of these programs deadlock.
IrregularProgram random_irregular(Random& random) {
  IrregularProgram p{1 + static_cast<std::uint32_t>(random.below(5)), 1 + static_cast<std::uint32_t>(random.below(2))};
  const auto n = static_cast<std::uint32_t>(random.below(16));
  for (std::uint32_t s = 0; s < n; ++s) {
    std::vector<StepId> waits;
    if (s > 0 && random.below(2) == 0)
      waits.push_back(StepId(static_cast<std::uint32_t>(random.below(random.below(8) == 0 ? n : s))));
    p.add({RankId(static_cast<std::uint32_t>(random.below(p.ranks))),
           random.below(8) == 0 ? StreamId() : StreamId(static_cast<std::uint32_t>(random.below(p.streams))),
           static_cast<std::int64_t>(random.below(6))},
          waits);
  }
  for (std::uint64_t m = n > 2 ? random.below(4) : 0; m > 0; --m) {
    std::uint32_t members = 0;
    for (std::uint64_t i = 2 + random.below(2); i > 0; --i) {
      RankStep& member = p.steps[StepId(static_cast<std::uint32_t>(random.below(n)))];
      if (member.meeting != RankStep::kAlone) continue;
      member.meeting = static_cast<std::uint32_t>(p.meeting_sizes.size());
      ++members;
    }
    p.meeting_sizes.push_back(members);
  }
  return p;
}

TEST(IrregularOracle, AgreesOnRandomProgramsAndNamesTrueCycles) {
  Random random(21);
  int deadlocks = 0;
  const int kPrograms = test::samples(40'000);
  for (int i = 0; i < kPrograms; ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const IrregularProgram p = random_irregular(random);
    const auto oracle = play_by_rescanning(p);
    const auto t = evaluate_irregular(p);
    ASSERT_EQ(t.ok(), oracle.has_value());
    if (oracle) {
      ASSERT_EQ(t->steps.raw(), *oracle);
      continue;
    }
    ++deadlocks;
    const auto cycle = find_deadlock(p);
    ASSERT_FALSE(cycle.empty());
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      ASSERT_TRUE(waits_for(p, cycle[k], cycle[(k + 1) % cycle.size()])) << cycle[k].value();
    }
  }
  EXPECT_GT(deadlocks, kPrograms / 10);
  EXPECT_LT(deadlocks, kPrograms * 9 / 10);
}

TEST(IrregularOracle, AnExpandedProgramPlaysLikeItsRows) {
  Random random(22);
  for (int i = 0; i < 20'000; ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    const Program p = random_program(random, {.ranks = 12, .streams = 3, .steps = 20, .waits = 2});
    const auto rows = evaluate_rows(p);
    const auto expanded = expand(p);
    ASSERT_TRUE(rows.ok() && expanded.ok());
    const auto t = evaluate_irregular(*expanded);
    ASSERT_TRUE(t.ok()) << t.error().text();
    ASSERT_EQ(t->makespan, rows->makespan);
    for (std::uint32_t r = 0; r < p.ranks; ++r) {
      for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
        const StepTimes expected{rows->ready[StepId(s)].at(r), rows->start[StepId(s)].at(r),
                                 rows->end[StepId(s)].at(r)};
        ASSERT_EQ(t->steps[StepId(static_cast<std::uint32_t>(r * p.steps.size() + s))], expected);
      }
    }
  }
}

TEST(Irregular, ExpandRefusesWhatStepIdsCannotCount) {
  Program p;
  p.ranks = 4'000'000'000u;
  add_step(p, 0, Row(1));
  add_step(p, 0, Row(1));
  EXPECT_FALSE(expand(p).ok());
}

TEST(Irregular, DigestSeesEveryChange) {
  IrregularProgram p{2, 1};
  p.add(step(0, 5));
  p.add(step(1, 5));
  const std::uint64_t before = evaluate_irregular(p)->digest;
  p.steps[StepId(1)].duration = 6;
  EXPECT_NE(evaluate_irregular(p)->digest, before);
  p.steps[StepId(1)].duration = 5;
  EXPECT_EQ(evaluate_irregular(p)->digest, before);
}

}  // namespace
}  // namespace distsim::engine
