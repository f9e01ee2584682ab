#include "sim/pipeline/contention/interference.hpp"

#include <gtest/gtest.h>

#include "sim/engine/rows/row_evaluator.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;  // picoseconds
constexpr graph::BoundShares kMatrix{1, 0, 0}, kMemory{0, 0, 1}, kLatency{};

graph::Cost cost(std::int64_t us, graph::BoundShares shares = kLatency) {
  graph::Cost c{Duration::microseconds(us), Duration::microseconds(us), Duration::microseconds(us),
                graph::Basis::analytic, ""};
  c.shares = c.described_shares = shares;
  return c;
}

/// An all-reduce of two ranks that holds `channels` SMs; its bus moves 1 MB.
graph::Cost transfer(std::int64_t us, double channels) {
  graph::Cost c = cost(us);
  c.channels = channels;
  return c;
}
constexpr std::int64_t kBytes = 1'000'000;

/// 100 SMs; memory of which the all-reduce of 6 us takes 3 x 1 MB / 6 us = 500 GB/s.
constexpr SharedDevice kDevice{100, 2000e9};

LaunchModel no_host() {
  LaunchModel m;
  m.framework.host.per_op = m.framework.host.per_op_backward = m.framework.host.per_launch = m.framework.host.per_step =
      Duration();
  m.launch.kernel_gap = Duration();
  return m;
}

engine::Timeline played(const Lowered& lowered) { return engine::evaluate_rows(lowered.program).value(); }

Slowed slowed(const Lowered& lowered, const graph::CostedGraph& graph, const SharedDevice& device = kDevice) {
  return slow_overlaps(lowered, graph, device).value();
}

/// Kernel a (10 us), then an all-reduce of 6 us on 20 channels during kernel b (20 us), then kernel c (5 us) after b.
graph::CostedGraph overlapping(graph::BoundShares shares) {
  graph::Collective sum;
  sum.bytes = kBytes;
  graph::TaskGraphBuilder b(2);
  const TaskId a = b.add("a", {}, graph::Elementwise{100});
  b.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, sum,
                   graph::Partition::strided(2, 1), std::vector{a});
  b.add("b", {}, graph::Elementwise{100});
  b.add("c", {}, graph::Elementwise{100});
  graph::CostedGraph c;
  c.graph = std::move(b).finish().value();
  for (const std::int64_t t : {10, 6, 20, 5}) c.costs.push_back(cost(t, shares));
  c.costs[OpId(1)] = transfer(6, 20);
  return c;
}

/// The all-reduce runs from 10 to 16, entirely during b. Matrix kernels lose 20 of 100 SMs for 6 us: 1.2 us. Memory
/// kernels lose a quarter of the bandwidth: 1.5 us. Latency loses nothing.
TEST(Interference, KernelsLoseWhatBoundsThem) {
  for (const auto& [shares, lost_ns] : {std::pair{kMatrix, 1200}, {kMemory, 1500}, {kLatency, 0}}) {
    const graph::CostedGraph graph = overlapping(shares);
    const Lowered lowered = lower(graph, no_host(), 1).value();
    ASSERT_EQ(played(lowered).makespan.ps(), 35 * kMicrosecond);
    const Slowed out = slowed(lowered, graph);
    EXPECT_EQ(out.kernels.ps(), lost_ns * 1000);
    EXPECT_EQ(played(out.lowered).makespan.ps(), 35 * kMicrosecond + lost_ns * 1000);
    EXPECT_EQ(played(lowered).makespan.ps(), 35 * kMicrosecond);  // a new value: the old one is as it was
  }
}

TEST(Interference, EveryIterationGetsTheSame) {
  const graph::CostedGraph graph = overlapping(kMatrix);
  const Lowered lowered = lower(graph, no_host(), 3).value();
  EXPECT_EQ(played(slowed(lowered, graph).lowered).makespan.ps(), 3 * (36 * kMicrosecond + kMicrosecond / 5));
}

/// A collective of 30 us from 10 on overlaps with b and c (25 us). As they lose a fifth they take 25 / 0.8 = 31.25 us,
/// of which 30 us lie beside it: they lose 6 us in all.
TEST(Interference, KernelsThatGetLongerMeetMoreOfIt) {
  graph::CostedGraph graph = overlapping(kMatrix);
  graph.costs[OpId(1)] = transfer(30, 20);
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Slowed out = slowed(lowered, graph);
  EXPECT_EQ(out.kernels.ps(), 6 * kMicrosecond);
  EXPECT_EQ(played(out.lowered).makespan.ps(), 41 * kMicrosecond);
}

/// Whatever a collective takes, the iteration is not longer than with the collective after the kernels: 35 + 6 us.
TEST(Interference, IsNeverWorseThanNoOverlap) {
  for (const double channels : {0.0, 1.0, 32.0, 100.0, 1e6}) {
    for (const double memory : {1e9, 100e9, 1e15}) {
      for (const graph::BoundShares& shares : {kMatrix, kMemory, graph::BoundShares{0.5, 0.2, 0.3}}) {
        const graph::CostedGraph graph = overlapping(shares);
        const Lowered lowered = lower(graph, no_host(), 1).value();
        graph::CostedGraph held = graph;
        held.costs[OpId(1)] = transfer(6, channels);
        EXPECT_LE(played(slowed(lowered, held, {100, memory}).lowered).makespan.ps(), 41 * kMicrosecond)
            << channels << " channels, " << memory;
      }
    }
  }
}

/// Rank 1's kernel a takes 14 us: the collective starts at 14 on both. Rank 0 has b (5 us) from 10 to 15 and c from 15
/// to 20: 1 us and 5 us of them overlap at 0.2, longer by 1 / 0.8 but for no more than 6 us: 1.2 us. Rank 1: 1.2 us.
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
  for (const std::int64_t t : {10, 14, 6, 5, 20, 5}) graph.costs.push_back(cost(t, kMatrix));
  graph.costs[OpId(2)] = transfer(6, 20);
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const engine::Timeline timeline = played(slowed(lowered, graph).lowered);
  const StepId last = StepId(static_cast<std::uint32_t>(lowered.program.steps.size() - 1));
  EXPECT_EQ(timeline.end[last].at(0), 20 * kMicrosecond + 1'200'000);
  EXPECT_EQ(timeline.end[last].at(1), 39 * kMicrosecond + 1'200'000);
}

/// The pass says what was lost, and returns a program in which nothing is slowed as it is.
TEST(Interference, ThePassSaysWhatWasLost) {
  const graph::CostedGraph graph = overlapping(kMatrix);
  const Lowered lowered = lower(graph, no_host(), 1).value();
  const Passed<Lowered> out = interfere(lowered, graph, kDevice).value();
  ASSERT_EQ(out.assumptions.size(), 1u);
  EXPECT_EQ(out.assumptions[0].kind, graph::AssumptionKind::interference);
  EXPECT_EQ(out.assumptions[0].text,
            "overlapping collectives slow kernels by 0.0012 ms per iteration: their channels hold SMs, their transfers "
            "take memory bandwidth");
  EXPECT_TRUE(interfere(lowered, overlapping(kLatency), kDevice).value().assumptions.empty());
}

}  // namespace
}  // namespace distsim::pipeline
