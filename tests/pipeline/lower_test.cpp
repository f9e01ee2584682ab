#include "sim/pipeline/lower.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::int64_t kUs = 1'000'000;  // picoseconds

LaunchModel quiet_launch() {
  LaunchModel m;
  m.framework.host.per_op = Duration::microseconds(10);
  m.framework.host.per_op_backward = Duration::microseconds(20);
  m.framework.host.per_launch = Duration::microseconds(5);
  m.framework.host.per_step = Duration::microseconds(100);
  m.launch.kernel_gap = Duration::microseconds(1);
  m.host.jitter_time = Duration();
  return m;
}

graph::CostedGraph costed(graph::TaskGraphBuilder&& builder, const std::vector<std::int64_t>& cost_us) {
  graph::CostedGraph c;
  c.graph = std::move(builder).finish().value();
  for (const std::int64_t us : cost_us)
    c.costs.push_back({Duration::microseconds(us), Duration::microseconds(us), Duration::microseconds(us),
                       graph::Basis::analytic, ""});
  return c;
}

/// Two kernels of 3 us, one launch each. Host: 100 (loop), then 10 + 5 a task. The GPU starves: each kernel starts when
/// its launch has returned.
///   host   0..100 | 100..115 | 115..130
///   GPU                      | 115..119 | 130..134      (3 us + 1 us gap)
TEST(Lower, EagerHostBound) {
  graph::TaskGraphBuilder b(1);
  const TaskId first = b.add("a", {}, graph::Elementwise{100});
  b.add("b", {}, graph::Elementwise{100}, std::vector{first});
  const Lowered lowered = lower(costed(std::move(b), {3, 3}), quiet_launch(), 1).value();
  const engine::Timeline t = engine::evaluate_rows(lowered.program).value();
  EXPECT_EQ(t.makespan.ps(), 134 * kUs);
}

/// The same with kernels of 40 us: the GPU is the slower one, 115 + 41 + 41.
TEST(Lower, EagerGpuBound) {
  graph::TaskGraphBuilder b(1);
  b.add("a", {}, graph::Elementwise{100});
  b.add("b", {}, graph::Elementwise{100});
  const engine::Timeline t =
      engine::evaluate_rows(lower(costed(std::move(b), {40, 40}), quiet_launch(), 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), (115 + 41 + 41) * kUs);
}

/// A graph launch of 20 us after the loop's 100 us, then both kernels back to back, with the graph's own gap.
TEST(Lower, CudaGraphLaunchesOnce) {
  LaunchModel m = quiet_launch();
  m.framework.host.cuda_graph = true;
  m.framework.host.graph_launch = Duration::microseconds(20);
  m.launch.graph_kernel_gap = Duration::microseconds(2);
  graph::TaskGraphBuilder b(1);
  b.add("a", {}, graph::Elementwise{100});
  b.add("b", {}, graph::Elementwise{100});
  const engine::Timeline t = engine::evaluate_rows(lower(costed(std::move(b), {3, 3}), m, 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), (120 + 5 + 5) * kUs);
}

/// Backward calls cost more on the host: 20 + 5 instead of 10 + 5; a slow host scales everything.
TEST(Lower, BackwardAndSlowHost) {
  LaunchModel m = quiet_launch();
  m.host.dispatch_scale = 2;
  graph::TaskGraphBuilder b(1);
  b.add("a", {.phase = graph::Phase::backward}, graph::Elementwise{100});
  const engine::Timeline t = engine::evaluate_rows(lower(costed(std::move(b), {3}), m, 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), (2 * (100 + 25) + 4) * kUs);
}

/// Cores locked at half their usual clock take twice as long to launch.
TEST(Lower, ALockedHostClockSlowsLaunches) {
  LaunchModel m = quiet_launch();
  m.host.usual_clock = Hertz(3.4e9);
  m.host.locked_clock = Hertz(1.7e9);
  graph::TaskGraphBuilder b(1);
  b.add("a", {.phase = graph::Phase::backward}, graph::Elementwise{100});
  const engine::Timeline t = engine::evaluate_rows(lower(costed(std::move(b), {3}), m, 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), (2 * (100 + 25) + 4) * kUs);
}

/// blocks_host: the second launch begins only when the first kernel has ended (115 + 51), so 166 + 15 = 181, + 4.
TEST(Lower, BlockingTaskHoldsTheHost) {
  graph::TaskGraphBuilder b(1);
  b.add("sync", {.blocks_host = true}, graph::Elementwise{100});
  b.add("next", {}, graph::Elementwise{100});
  const engine::Timeline t =
      engine::evaluate_rows(lower(costed(std::move(b), {50, 3}), quiet_launch(), 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), 185 * kUs);
}

/// Launches that block: 115, kernel to 165 and its gap to 166, launch to 181, then 3 + 1.
TEST(Lower, BlockingLaunchesWaitForTheirKernels) {
  graph::TaskGraphBuilder b(1);
  b.add("a", {}, graph::Elementwise{100});
  b.add("b", {}, graph::Elementwise{100});
  LaunchModel m = quiet_launch();
  m.framework.host.launch_blocking = true;
  const engine::Timeline t = engine::evaluate_rows(lower(costed(std::move(b), {50, 3}), m, 1).value().program).value();
  EXPECT_EQ(t.makespan.ps(), 185 * kUs);
}

/// In a steady loop the slower of host and GPU sets the period, not their sum. GPU: 2 x 41 = 82 us; host: 100 + 2 x 15
/// = 130 us.
TEST(Lower, SteadyPeriodIsTheSlowerSide) {
  graph::TaskGraphBuilder b(1);
  b.add("a", {}, graph::Elementwise{100});
  b.add("b", {}, graph::Elementwise{100});
  const Lowered lowered = lower(costed(std::move(b), {40, 40}), quiet_launch(), 4).value();
  const engine::Timeline t = engine::evaluate_rows(lowered.program).value();
  std::vector<std::int64_t> ends(4, 0);
  for (std::uint32_t s = 0; s < lowered.program.steps.size(); ++s) {
    auto& end = ends[lowered.origins[StepId(s)].iteration];
    end = std::max(end, t.end[StepId(s)].at(0));
  }
  EXPECT_EQ(ends[3] - ends[2], 130 * kUs);
}

/// Ranks differ: rank 1 runs the long variant, and an absent part takes no time and has no gap.
TEST(Lower, VariantsGiveEachRankItsDuration) {
  graph::TaskGraphBuilder b(3);
  b.add_per_rank("uneven", {}, {graph::Elementwise{100}, graph::Elementwise{900}, graph::Absent{}}, {0, 1, 2});
  const Lowered lowered = lower(costed(std::move(b), {10, 90, 0}), quiet_launch(), 1).value();
  const engine::Row& row = lowered.program.steps[StepId(2)].duration;
  ASSERT_FALSE(row.uniform());
  EXPECT_EQ(row.at(0), 11 * kUs);
  EXPECT_EQ(row.at(1), 91 * kUs);
  EXPECT_EQ(row.at(2), 0);
}

/// A collective waits for the last member and has no kernel gap.
TEST(Lower, CollectiveJoinsItsGroup) {
  graph::TaskGraphBuilder b(2);
  const TaskId uneven = b.add_per_rank("uneven", {}, {graph::Elementwise{100}, graph::Elementwise{900}}, {0, 1});
  b.add_collective("sum", {.stream = graph::Stream::comm}, graph::Collective{graph::CollectiveKind::all_reduce, 1024},
                   graph::Partition::strided(2, 1), std::vector{uneven});
  const Lowered lowered = lower(costed(std::move(b), {10, 90, 7}), quiet_launch(), 1).value();
  const engine::Timeline t = engine::evaluate_rows(lowered.program).value();
  const StepId last(static_cast<std::uint32_t>(lowered.program.steps.size() - 1));
  EXPECT_EQ(t.end[last].at(0), (115 + 91 + 7) * kUs);
  EXPECT_EQ(t.end[last].at(1), (115 + 91 + 7) * kUs);
}

/// The latest of many ranks is later the more there are, by the same for each doubling; one alone is not late.
TEST(Lower, DetoursOfTheHostGrowWithTheLogarithmOfRanks) {
  topology::HostSpec host;
  host.jitter_rate = Hertz(100);
  host.jitter_time = Duration::microseconds(50);
  const auto late_us = [&](std::uint32_t ranks, double busy = 0.01) {
    return detours_of_latest(host, busy, ranks) * 1e6;
  };
  EXPECT_EQ(late_us(1), 0);
  EXPECT_GT(late_us(2), 0);
  EXPECT_NEAR(late_us(20'000) - late_us(10'000), 50 * std::log(2.0), 0.1);
  EXPECT_NEAR(late_us(4000) - late_us(2000), late_us(2000) - late_us(1000), 0.1);
  for (const double busy : {1e-4, 1e-3, 1e-2, 1e-1}) EXPECT_LT(late_us(64, busy), late_us(64, 2 * busy));
  host.jitter_rate = Hertz(0);
  EXPECT_EQ(late_us(1000), 0);
}

/// They delay a host loop, by the share of the core that they take and by the latest rank, and are hidden behind the kernels of a
/// busy GPU.
TEST(Lower, DetoursAreHiddenWhereTheHostRunsAhead) {
  LaunchModel jittery = quiet_launch();
  jittery.host.jitter_rate = Hertz(1000);
  jittery.host.jitter_time = Duration::microseconds(100);
  const auto added_us = [&](std::int64_t kernel_us) {
    const auto makespan = [&](const LaunchModel& m) {
      graph::TaskGraphBuilder b(64);
      b.add("a", {}, graph::Elementwise{100});
      const Lowered lowered = lower(costed(std::move(b), {kernel_us}), m, 3).value();
      return engine::evaluate_rows(lowered.program).value().makespan;
    };
    return (makespan(jittery) - makespan(quiet_launch())).us();
  };
  const double busy_us = 115, longer_us = busy_us * jittery.host.launch_factor();
  const double each = longer_us - busy_us + detours_of_latest(jittery.host, longer_us * 1e-6, 64) * 1e6;
  EXPECT_NEAR(added_us(1), 3 * each, 0.01);
  EXPECT_NEAR(added_us(100'000), each, 0.01) << "only before the first kernel";
}

/// Launching collectives has a factor of its own.
TEST(Lower, ACollectiveTakesItsShareOfTheHost) {
  LaunchModel slow = quiet_launch();
  slow.collective_launch = 3;
  const auto makespan = [](const LaunchModel& m) {
    graph::TaskGraphBuilder b(2);
    b.add("a", {}, graph::Elementwise{100});
    graph::Collective sum;
    sum.kind = graph::CollectiveKind::all_reduce;
    sum.bytes = 8;
    b.add_collective("sum", {graph::Stream::comm}, std::move(sum), graph::Partition::strided(2, 1));
    return engine::evaluate_rows(lower(costed(std::move(b), {1, 1}), m, 1).value().program).value().makespan;
  };
  EXPECT_EQ(makespan(slow) - makespan(quiet_launch()), Duration::microseconds(2 * (10 + 5)));
}

}  // namespace
}  // namespace distsim::pipeline
