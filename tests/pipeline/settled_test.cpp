// Iterations are played until they follow each other in a rhythm: what is reported is that of a long run.
#include <gtest/gtest.h>

#include "sim/engine/rows/row_evaluator.hpp"
#include "sim/pipeline/lower.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::pipeline {
namespace {

constexpr std::int64_t kPsOfUs = 1'000'000;  // picoseconds

LaunchModel without_host() {
  LaunchModel m;
  m.framework.host.per_op = m.framework.host.per_op_backward = m.framework.host.per_launch = m.framework.host.per_step =
      Duration();
  m.launch.kernel_gap = Duration();
  m.host.jitter_time = Duration();
  return m;
}

/// A chain of three streams of 10 us each, which ends 30 us after the iteration begins, and beside it a copy of
/// `copy_us` that nothing waits for.
graph::CostedGraph chain_beside_copy(std::int64_t copy_us) {
  graph::TaskGraphBuilder b(1);
  const TaskId first = b.add("first", {graph::Stream::compute}, graph::Elementwise{100});
  const TaskId second = b.add("second", {graph::Stream::comm}, graph::Elementwise{100}, std::vector{first});
  b.add("third", {graph::Stream::comm.lane(1)}, graph::Elementwise{100}, std::vector{second});
  b.add("beside", {graph::Stream::copy}, graph::Copy{graph::CopyKind::h2d, 100});
  graph::CostedGraph out;
  out.graph = std::move(b).finish().value();
  for (const std::int64_t us : {std::int64_t{10}, std::int64_t{10}, std::int64_t{10}, copy_us})
    out.costs.push_back({Duration::microseconds(us), Duration::microseconds(us), Duration::microseconds(us),
                         graph::Basis::analytic, ""});
  return out;
}

struct Rhythm {
  bool settled;
  std::int64_t period_us;
};

Rhythm rhythm_of(const graph::CostedGraph& graph, std::uint16_t iterations) {
  const Lowered lowered = lower(graph, without_host(), iterations).value();
  const engine::Timeline timeline = engine::evaluate_rows(lowered.program).value();
  const report::Played p{&graph, &lowered.program, &lowered.origins, &timeline, iterations};
  return {report::is_settled(p), report::steady_state(p).period() / kPsOfUs};
}

/// The copy takes 11 us in every iteration and the chain 10: in the end the copies set the pace, but the third iteration
/// of the chain ends long after the third copy.
TEST(Settled, AStreamThatFallsBehindSetsThePaceInTheEnd) {
  EXPECT_TRUE(rhythm_of(chain_beside_copy(9), 3).settled);
  EXPECT_TRUE(rhythm_of(chain_beside_copy(10), 3).settled);
  const graph::CostedGraph graph = chain_beside_copy(11);
  EXPECT_FALSE(rhythm_of(graph, 3).settled);
  EXPECT_EQ(rhythm_of(graph, 3).period_us, 10);
  EXPECT_TRUE(rhythm_of(graph, 24).settled);
  EXPECT_EQ(rhythm_of(graph, 24).period_us, 11);
}

}  // namespace
}  // namespace distsim::pipeline
