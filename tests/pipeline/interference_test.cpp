#include "sim/pipeline/contention/interference.hpp"

#include <gtest/gtest.h>

#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::int64_t kUs = 1'000'000;  // picoseconds

graph::Cost cost(std::int64_t us) {
  return {Duration::microseconds(us), Duration::microseconds(us), Duration::microseconds(us), graph::Basis::analytic,
          ""};
}

LaunchModel no_host() {
  LaunchModel m;
  m.framework.host.per_op = m.framework.host.per_op_backward = m.framework.host.per_launch = m.framework.host.per_step =
      Duration();
  m.launch.kernel_gap = Duration();
  return m;
}

engine::Timeline played(const Lowered& lowered) { return engine::evaluate_rows(lowered.program).value(); }

/// `lowered` with what overlaps slowed.
Slowed slowed(const Lowered& lowered, const graph::CostedGraph& graph, const Interference& cost) {
  return slow_overlaps(lowered, played(lowered), graph, cost);
}

/// Kernel a (10 us), then an all-reduce of 6 us during kernel b (20 us), then kernel c (5 us) after b.
graph::CostedGraph overlapping() {
  graph::TaskGraphBuilder b(2);
  const TaskId a = b.add("a", {}, graph::Elementwise{100});
  b.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                   graph::Partition::strided(2, 1), std::vector{a});
  b.add("b", {}, graph::Elementwise{100});
  b.add("c", {}, graph::Elementwise{100});
  graph::CostedGraph c;
  c.graph = std::move(b).finish().value();
  for (const std::int64_t t : {10, 6, 20, 5}) c.costs.push_back(cost(t));
  return c;
}

/// The all-reduce runs from 10 to 16, entirely during b: b loses 0.5 x 6 = 3 us, and one iteration takes 10 + 23 + 5 =
/// 38 us.
TEST(Interference, SlowsWhatOverlaps) {
  const graph::CostedGraph graph = overlapping();
  const Lowered lowered = lower(graph, no_host(), 1).value();
  ASSERT_EQ(played(lowered).makespan.ps(), 35 * kUs);
  const Slowed out = slowed(lowered, graph, {0.5, 0});
  EXPECT_EQ(out.kernels.ps(), 3 * kUs);
  EXPECT_EQ(played(out.lowered).makespan.ps(), 38 * kUs);
  EXPECT_EQ(played(lowered).makespan.ps(), 35 * kUs);  // a new value: the old one is as it was
}

TEST(Interference, EveryIterationGetsTheSame) {
  const graph::CostedGraph graph = overlapping();
  const Lowered lowered = lower(graph, no_host(), 3).value();
  EXPECT_EQ(played(slowed(lowered, graph, {0.5, 0}).lowered).makespan.ps(), 3 * 38 * kUs);
}

TEST(Interference, NothingChangesWhereOverlapIsFree) {
  const graph::CostedGraph graph = overlapping();
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph, {});
  EXPECT_EQ(out.kernels, Duration());
  EXPECT_EQ(out.transfers, Duration());
  EXPECT_EQ(played(out.lowered).digest, played(lowered).digest);
}

/// A collective of 30 us from 10 on overlaps with b and c (25 us): at 0.2 it takes 5 us more, and ends the iteration
/// at 45.
TEST(Interference, SlowsTheTransfersToo) {
  graph::CostedGraph graph = overlapping();
  graph.costs[OpId(1)] = cost(30);
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph, {0, 0.2});
  EXPECT_EQ(out.kernels, Duration());
  EXPECT_EQ(out.transfers.ps(), 5 * kUs);
  EXPECT_EQ(played(out.lowered).makespan.ps(), 45 * kUs);
}

/// Both at once, from the same timeline: b (20 us) loses 0.5 x 6, the all-reduce (6 us, entirely during b) 0.5 x 6.
TEST(Interference, BothSidesLose) {
  const graph::CostedGraph graph = overlapping();
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph, {0.5, 0.5});
  EXPECT_EQ(out.kernels.ps(), 3 * kUs);
  EXPECT_EQ(out.transfers.ps(), 3 * kUs);
  EXPECT_EQ(played(out.lowered).makespan.ps(), 38 * kUs);
}

/// Kernel b takes 5 us on rank 0 and 20 us on rank 1, so that the collective of 30 us has 10 and 25 us of kernels
/// during it: both lose 0.2 x 25.
TEST(Interference, ACollectiveLosesOnAllItsRanksAlike) {
  graph::TaskGraphBuilder builder(2);
  const std::uint32_t table = builder.add_rank_table({0, 1});
  const TaskId a = builder.add("a", {}, graph::Elementwise{100});
  builder.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                         graph::Partition::strided(2, 1), std::vector{a});
  builder.add_per_rank("b", {}, {graph::Elementwise{50}, graph::Elementwise{200}}, table);
  builder.add("c", {}, graph::Elementwise{50});
  graph::CostedGraph graph;
  graph.graph = std::move(builder).finish().value();
  for (const std::int64_t t : {10, 30, 5, 20, 5}) graph.costs.push_back(cost(t));
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph, {0, 0.2});
  EXPECT_EQ(out.transfers.ps(), 5 * kUs);
  const engine::Timeline timeline = played(out.lowered);
  for (StepId s(0); s < lowered.program.steps.end_id(); s = StepId(s.value() + 1)) {
    if (lowered.program.steps[s].group == engine::Step::kNoGroup) continue;
    for (const std::uint32_t rank : {0u, 1u}) EXPECT_EQ(timeline.end[s].at(rank), 45 * kUs) << rank;
  }
}

/// Rank 1's kernel a takes 14 us: the collective starts at 14 on both. Rank 0 has b from 10 to 30, rank 1 from 14 to
/// 34; both lose 3 us. With b of 5 us on rank 0 (10..15) only 1 us of it overlaps: 0.5 us, and c (15..20) loses the
/// 5 us from 15 to 20: 2.5 us.
TEST(Interference, RanksLoseTheirOwn) {
  graph::TaskGraphBuilder builder(2);
  const std::uint32_t table = builder.add_rank_table({0, 1});
  const TaskId a = builder.add_per_rank("a", {}, {graph::Elementwise{100}, graph::Elementwise{140}}, table);
  builder.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                         graph::Partition::strided(2, 1), std::vector{a});
  builder.add_per_rank("b", {}, {graph::Elementwise{50}, graph::Elementwise{200}}, table);
  builder.add("c", {}, graph::Elementwise{50});
  graph::CostedGraph graph;
  graph.graph = std::move(builder).finish().value();
  for (const std::int64_t t : {10, 14, 6, 5, 20, 5}) graph.costs.push_back(cost(t));
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph, {0.5, 0});
  EXPECT_EQ(out.kernels.ps(), 3 * kUs);
  const engine::Timeline timeline = played(out.lowered);
  const StepId last = StepId(static_cast<std::uint32_t>(lowered.program.steps.size() - 1));
  EXPECT_EQ(timeline.end[last].at(0), 23 * kUs);  // 10 + 5.5 + 7.5
  EXPECT_EQ(timeline.end[last].at(1), (14 + 23 + 5) * kUs);
}

/// The pass says what was lost, and returns a program in which nothing can be slowed as it is.
TEST(Interference, ThePassSaysWhatWasLost) {
  const graph::CostedGraph graph = overlapping();
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Passed<Lowered> both = interfere(lowered, graph, {0.5, 0.25}).value();
  ASSERT_EQ(both.assumptions.size(), 2u);
  EXPECT_EQ(both.assumptions[0],
            (graph::Assumption{graph::AssumptionKind::interference,
                               "overlap slows kernels by 0.50 s per second of communication: 0.003 ms per iteration"}));
  EXPECT_EQ(both.assumptions[1].text,
            "overlap slows collectives by 0.25 s per second of compute: 0.0015 ms per iteration");
  EXPECT_TRUE(interfere(lowered, graph, {}).value().assumptions.empty());
}

}  // namespace
}  // namespace distsim::pipeline
