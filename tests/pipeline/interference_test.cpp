#include "sim/pipeline/interference.hpp"

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

/// Kernel a (10 us), then an all-reduce of 6 us beside kernel b (20 us), then kernel c (5 us) after b.
graph::CostedGraph beside() {
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

/// The all-reduce runs from 10 to 16, wholly beside b: b loses 0.5 x 6 = 3 us, and one iteration takes 10 + 23 + 5 = 38
/// us.
TEST(Interference, SlowsWhatRunsBeside) {
  const graph::CostedGraph graph = beside();
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  ASSERT_EQ(alone.makespan.ps(), 35 * kUs);
  EXPECT_EQ(slow_what_overlaps(lowered, alone, graph, {0.5, 0}).value().kernels.ps(), 3 * kUs);
  EXPECT_EQ(engine::evaluate_rows(lowered.program).value().makespan.ps(), 38 * kUs);
}

TEST(Interference, EveryIterationGetsTheSame) {
  const graph::CostedGraph graph = beside();
  Lowered lowered = lower(graph, no_host(), 3).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  ASSERT_TRUE(slow_what_overlaps(lowered, alone, graph, {0.5, 0}).ok());
  EXPECT_EQ(engine::evaluate_rows(lowered.program).value().makespan.ps(), 3 * 38 * kUs);
}

TEST(Interference, NothingBesideNothingChanges) {
  const graph::CostedGraph graph = beside();
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  EXPECT_TRUE(slow_what_overlaps(lowered, alone, graph, {}).value().none());
  EXPECT_EQ(engine::evaluate_rows(lowered.program).value().digest, alone.digest);
}

/// A collective of 30 us from 10 on has b and c (25 us) beside it: at 0.2 it takes 5 us more, and ends the iteration
/// at 45.
TEST(Interference, SlowsTheTransfersToo) {
  graph::CostedGraph graph = beside();
  graph.costs[OpId(1)] = cost(30);
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  const LostBeside lost = slow_what_overlaps(lowered, alone, graph, {0, 0.2}).value();
  EXPECT_EQ(lost.kernels, Duration());
  EXPECT_EQ(lost.transfers.ps(), 5 * kUs);
  EXPECT_EQ(engine::evaluate_rows(lowered.program).value().makespan.ps(), 45 * kUs);
}

/// Both at once, from the same timeline: b (20 us) loses 0.5 x 6, the all-reduce (6 us, wholly beside b) 0.5 x 6.
TEST(Interference, BothSidesLose) {
  const graph::CostedGraph graph = beside();
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  const LostBeside lost = slow_what_overlaps(lowered, alone, graph, {0.5, 0.5}).value();
  EXPECT_EQ(lost.kernels.ps(), 3 * kUs);
  EXPECT_EQ(lost.transfers.ps(), 3 * kUs);
  EXPECT_EQ(engine::evaluate_rows(lowered.program).value().makespan.ps(), 38 * kUs);
}

/// Kernel b takes 5 us on rank 0 and 20 us on rank 1, so that the collective of 30 us has 10 and 25 us of kernels
/// beside it: both lose 0.2 x 25.
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
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  EXPECT_EQ(slow_what_overlaps(lowered, alone, graph, {0, 0.2}).value().transfers.ps(), 5 * kUs);
  const engine::Timeline slowed = engine::evaluate_rows(lowered.program).value();
  for (StepId s(0); s < lowered.program.steps.end_id(); s = StepId(s.value() + 1)) {
    if (lowered.program.steps[s].group == engine::Step::kNoGroup) continue;
    for (const std::uint32_t rank : {0u, 1u}) EXPECT_EQ(slowed.end[s].at(rank), 45 * kUs) << rank;
  }
}

/// Rank 1's kernel a takes 14 us: the collective starts at 14 on both. Rank 0 has b from 10 to 30, rank 1 from 14 to
/// 34; both lose 3 us. With b of 5 us on rank 0 (10..15) only 1 us of it lies beside: 0.5 us, and c (15..20) loses the
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
  Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline alone = engine::evaluate_rows(lowered.program).value();
  EXPECT_EQ(slow_what_overlaps(lowered, alone, graph, {0.5, 0}).value().kernels.ps(), 3 * kUs);
  const engine::Timeline slowed = engine::evaluate_rows(lowered.program).value();
  const StepId last = StepId(static_cast<std::uint32_t>(lowered.program.steps.size() - 1));
  EXPECT_EQ(slowed.end[last].at(0), 23 * kUs);  // 10 + 5.5 + 7.5
  EXPECT_EQ(slowed.end[last].at(1), (14 + 23 + 5) * kUs);
}

}  // namespace
}  // namespace distsim::pipeline
