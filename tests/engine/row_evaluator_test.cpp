// Schedules small enough to work out on paper.
#include "sim/engine/rows/row_evaluator.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"
#include "sim/engine/timeline/verify.hpp"

namespace distsim::engine {
namespace {

std::vector<std::int64_t> times(const Row& row, std::uint32_t ranks) {
  std::vector<std::int64_t> out;
  for (std::uint32_t r = 0; r < ranks; ++r) out.push_back(row.at(r));
  return out;
}
using Times = std::vector<std::int64_t>;

Timeline play(const Program& p) {
  auto timeline = evaluate_rows(p);
  EXPECT_TRUE(timeline.ok()) << (timeline.ok() ? "" : timeline.error().text());
  auto lawful = verify(p, *timeline);
  EXPECT_TRUE(lawful.ok()) << (lawful.ok() ? "" : lawful.error().text());
  return *timeline;
}

//  Two ranks, a compute stream and a communication stream; rank 1 computes more slowly. Bucket 2's gradients are ready
//  first.
//
//  time      0    5    10   15   20   25   30   35   40
//  rank 0  C |bwd2 10  |bwd1 10  |                  |opt 5
//          N |         : |all_reduce2 7| all_reduce1 7|         (waits for rank 1 twice)
//  rank 1  C |bwd2 12    |bwd1 14       |           |opt 6
//
//  bwd2          ready 0, 0    ends 10, 12
//  bwd1          ready 10, 12  ends 20, 26
//  all_reduce2   ready 10, 12 (after bwd2), starts when the last arrives, 12; ends 19, 19
//  all_reduce1   ready max(19, 20) = 20, max(19, 26) = 26; starts 26; ends 33, 33
//  optimizer     ready max(20, 33) = 33, max(26, 33) = 33; ends 38, 39.  Makespan 39.
struct TwoRanks {
  Program p;
  StepId bwd2, bwd1, reduce2, reduce1, optimizer;
  TwoRanks() {
    p.ranks = 2;
    p.streams = 2;
    p.groups.push_back({2, 1, {}, {}});
    bwd2 = add_step(p, 0, row({10, 12}));
    bwd1 = add_step(p, 0, row({10, 14}));
    reduce2 = add_step(p, 1, Row(7), {bwd2}, 0);
    reduce1 = add_step(p, 1, Row(7), {bwd1}, 0);
    optimizer = add_step(p, 0, row({5, 6}), {reduce2, reduce1});
  }
};

TEST(RowEvaluator, TwoRanksTwoStreamsOnPaper) {
  const TwoRanks t;
  const Timeline timeline = play(t.p);
  EXPECT_EQ(times(timeline.end[t.bwd2], 2), (Times{10, 12}));
  EXPECT_EQ(times(timeline.end[t.bwd1], 2), (Times{20, 26}));
  EXPECT_EQ(times(timeline.ready[t.reduce2], 2), (Times{10, 12}));
  EXPECT_EQ(times(timeline.start[t.reduce2], 2), (Times{12, 12}));
  EXPECT_EQ(times(timeline.end[t.reduce2], 2), (Times{19, 19}));
  EXPECT_EQ(times(timeline.ready[t.reduce1], 2), (Times{20, 26}));
  EXPECT_EQ(times(timeline.start[t.reduce1], 2), (Times{26, 26}));
  EXPECT_EQ(times(timeline.end[t.reduce1], 2), (Times{33, 33}));
  EXPECT_EQ(times(timeline.ready[t.optimizer], 2), (Times{33, 33}));
  EXPECT_EQ(times(timeline.end[t.optimizer], 2), (Times{38, 39}));
  EXPECT_EQ(timeline.makespan.ps(), 39);
}

TEST(RowEvaluator, MakespanModeGivesTheSameEnds) {
  const TwoRanks t;
  const auto ends = evaluate_makespan(t.p);
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(ends->makespan.ps(), 39);
  EXPECT_EQ(times(ends->last_end[StreamId(0)], 2), (Times{38, 39}));
  EXPECT_EQ(times(ends->last_end[StreamId(1)], 2), (Times{33, 33}));
}

TEST(RowEvaluator, ASlowRankHoldsBackItsGroupAndNobodyElse) {
  // Four ranks in groups {0,1} and {2,3}; rank 3 is slow by 100.
  Program p;
  p.ranks = 4;
  p.groups.push_back({2, 1, {}, {}});
  add_step(p, 0, row({10, 10, 10, 110}));
  const StepId join = add_step(p, 0, Row(5), {}, 0);
  const Timeline timeline = play(p);
  EXPECT_EQ(times(timeline.start[join], 4), (Times{10, 10, 110, 110}));
  EXPECT_EQ(times(timeline.end[join], 4), (Times{15, 15, 115, 115}));
}

TEST(RowEvaluator, StridedGroupsJoinRanksOfEqualPosition) {
  // Two nodes of four GPUs; rails join rank i with rank i + 4. Rank 2 arrives at 9 and rank 5 at 8, all others at 1.
  Program p;
  p.ranks = 8;
  p.groups.push_back({2, 4, {}, {}});
  add_step(p, 0, row({1, 1, 9, 1, 1, 8, 1, 1}));
  const StepId join = add_step(p, 0, Row(1), {}, 0);
  EXPECT_EQ(times(play(p).start[join], 8), (Times{1, 8, 9, 1, 1, 8, 9, 1}));
}

TEST(RowEvaluator, WaitsCrossStreamsAndStreamsRunSideBySide) {
  // Stream 0: a(4) then c(1), c waits for b. Stream 1: b(6) waits for nothing; d(2) waits for a.
  Program p;
  p.streams = 2;
  const StepId a = add_step(p, 0, Row(4));
  const StepId b = add_step(p, 1, Row(6));
  const StepId c = add_step(p, 0, Row(1), {b});
  const StepId d = add_step(p, 1, Row(2), {a});
  const Timeline timeline = play(p);
  EXPECT_EQ(timeline.start[b].at(0), 0);
  EXPECT_EQ(timeline.start[c].at(0), 6);
  EXPECT_EQ(timeline.start[d].at(0), 6);  // FIFO: after b, though a ended at 4
  EXPECT_EQ(timeline.makespan.ps(), 8);
}

TEST(RowEvaluator, UniformProgramsStayScalarAtAnyRankCount) {
  Program p;
  p.ranks = 4'000'000'000u;  // 32 GB a row, were it ever written out
  p.streams = 2;
  p.groups.push_back({p.ranks, 1, {}, {}});
  const StepId a = add_step(p, 0, Row(10));
  const StepId join = add_step(p, 1, Row(3), {a}, 0);
  const auto timeline = evaluate_rows(p);
  ASSERT_TRUE(timeline.ok());
  EXPECT_TRUE(timeline->end[join].uniform());
  EXPECT_EQ(timeline->makespan.ps(), 13);
}

TEST(RowEvaluator, AWorldJoinMakesRowsUniformAgain) {
  Program p;
  p.ranks = 3;
  p.groups.push_back({3, 1, {}, {}});
  add_step(p, 0, row({1, 2, 3}));
  const StepId join = add_step(p, 0, Row(1), {}, 0);
  const Timeline timeline = play(p);
  EXPECT_TRUE(timeline.end[join].uniform());
  EXPECT_EQ(timeline.end[join].at(1), 4);
}

TEST(RowEvaluator, NonJoiningStepsShareOneRowForReadyAndStart) {
  Program p;
  p.ranks = 2;
  add_step(p, 0, row({1, 2}));
  const StepId next = add_step(p, 0, row({1, 1}));
  const Timeline timeline = play(p);
  EXPECT_EQ(timeline.start[next].values().data(), timeline.ready[next].values().data());
}

TEST(RowEvaluator, AnEmptyProgramTakesNoTime) {
  const Timeline timeline = play(Program{});
  EXPECT_EQ(timeline.makespan.ps(), 0);
  EXPECT_EQ(timeline.end.size(), 0u);
}

TEST(RowEvaluator, ATimelineOutlivesItsProgram) {
  Timeline timeline;
  {
    const TwoRanks t;
    timeline = play(t.p);
  }
  EXPECT_EQ(timeline.end[StepId(4)].at(1), 39);
}

}  // namespace
}  // namespace distsim::engine
