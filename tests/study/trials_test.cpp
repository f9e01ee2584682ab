#include "sim/study/trials.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/pipeline/lower.hpp"

namespace distsim::study {
namespace {

Duration us(std::int64_t t) { return Duration::microseconds(t); }

/// One kernel of 100 us (low 90, high 120) on each of `ranks`, then an all-reduce of 10 us (no spread).
pipeline::Prediction kernel_then_sum(std::uint32_t ranks, bool spread) {
  graph::TaskGraphBuilder b(ranks);
  const TaskId kernel = b.add("kernel", {}, graph::Elementwise{100});
  b.add_collective("sum", {graph::Stream::comm, graph::Phase::gradient_sync, {1, 1}}, graph::Collective{},
                   graph::Partition::strided(ranks, 1), std::vector{kernel});
  graph::CostedGraph costed;
  costed.graph = std::move(b).finish().value();
  costed.costs.push_back({us(100), us(spread ? 90 : 100), us(spread ? 120 : 100), graph::Basis::analytic, ""});
  costed.costs.push_back({us(10), us(10), us(10), graph::Basis::measured, ""});
  pipeline::LaunchModel launch;
  launch.framework.host.per_op = launch.framework.host.per_op_backward = launch.framework.host.per_launch =
      launch.framework.host.per_step = Duration();
  launch.launch.kernel_gap = Duration();
  pipeline::Prediction p;
  p.costed = std::make_shared<const graph::CostedGraph>(std::move(costed));
  p.lowered = std::make_shared<const pipeline::Lowered>(pipeline::lower(*p.costed, launch, 1).value());
  p.timeline = std::make_shared<const engine::Timeline>(engine::evaluate_rows(p.lowered->program).value());
  p.report.iteration = us(110);
  return p;
}

TEST(Trials, NothingUncertainNothingScatters) {
  const report::TrialTimes t = run_trials(kernel_then_sum(4, false), {50, 1}).value();
  EXPECT_EQ(t.p10, us(110));
  EXPECT_EQ(t.p99, us(110));
}

/// The op's own range is its 10th to 90th percentile, so the iteration's is too: 90 + 10 and 120 + 10 us. 4,000 draws
/// put the estimate of a tenth within about 1.5 us.
TEST(Trials, ReproducesTheRangeOfAnOp) {
  const report::TrialTimes t = run_trials(kernel_then_sum(1, true), {4000, 1}).value();
  EXPECT_NEAR(t.p10.ms(), 0.100, 0.0015);
  EXPECT_NEAR(t.p50.ms(), 0.110, 0.0015);
  EXPECT_NEAR(t.p90.ms(), 0.130, 0.003);
  EXPECT_GT(t.p99, t.p90);
}

/// Ranks that vary by 5 % wait for the slowest of 8: 100 us x (1 + 0.05 x 1.42) on average, so 117 us with the
/// collective.
TEST(Trials, TheSlowestRankDecides) {
  pipeline::Prediction p = kernel_then_sum(8, false);
  p.speed_variation = 0.05;
  EXPECT_NEAR(run_trials(p, {4000, 1}).value().p50.ms(), 0.110 + 0.100 * 0.05 * expected_largest_of(8), 0.001);
}

TEST(Trials, TheSeedDecidesAndNothingElse) {
  pipeline::Prediction p = kernel_then_sum(8, true);
  p.speed_variation = 0.02;
  EXPECT_EQ(run_trials(p, {100, 7}).value().p90, run_trials(p, {100, 7}).value().p90);
  EXPECT_NE(run_trials(p, {100, 7}).value().p90, run_trials(p, {100, 8}).value().p90);
}

/// Of an iteration of which half was played, the times are doubled.
TEST(Trials, FoldedIterationsAreStretched) {
  pipeline::Prediction p = kernel_then_sum(1, false);
  p.report.iteration = us(220);
  EXPECT_EQ(run_trials(p, {10, 1}).value().p50, us(220));
}

}  // namespace
}  // namespace distsim::study
