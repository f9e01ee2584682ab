// Sequences: ops of a layer, priced once and added up.
#include <gtest/gtest.h>

#include "sim/graph/costed_graph.hpp"

namespace distsim::graph {
namespace {

TaskGraphBuilder two_layers(Sequence& sequence) {
  TaskGraphBuilder builder(1);
  const std::vector<std::pair<Op, double>> parts{{Gemm{1, 8, 8, 8, DType::fp16}, 2}, {Elementwise{64}, 3}};
  sequence = builder.add_sequence(parts);
  return builder;
}

TEST(Sequence, CostsAddUpWeighedByHowOftenTheyRun) {
  Sequence sequence;
  TaskGraphBuilder builder = two_layers(sequence);
  EXPECT_DOUBLE_EQ(sequence.flops, 2 * 1024 + 3 * 64);
  builder.add("pass", {}, sequence);
  CostedGraph costed{std::move(builder).finish().value(), {}, nullptr};
  costed.costs = IdVector<OpId, Cost>(costed.graph.ops.size());
  const auto cost = [](std::int64_t us, BoundShares shares) {
    Cost c = make_cost(static_cast<double>(us) * 1e-6, 0.1, 0.2, Basis::learned, "x").value();
    c.shares = shares;
    return c;
  };
  costed.costs[OpId(0)] = cost(30, {1, 0, 0});
  costed.costs[OpId(1)] = cost(10, {0, 0, 1});
  ASSERT_TRUE(sum_sequences(costed).ok());
  const Cost sum = costed.costs[OpId(2)];
  EXPECT_EQ(sum.mean, Duration::microseconds(90));
  EXPECT_EQ(sum.low, Duration::microseconds(81));
  EXPECT_EQ(sum.high, Duration::microseconds(108));
  EXPECT_NEAR(sum.shares.matrix, 60.0 / 90, 1e-12);
  EXPECT_NEAR(sum.shares.memory, 30.0 / 90, 1e-12);
  EXPECT_EQ(sum.basis, Basis::learned);
}

TEST(Sequence, OfWhatIsNotThereOrTakesSeveralRanksIsRefused) {
  Sequence sequence;
  TaskGraphBuilder missing = two_layers(sequence);
  sequence.index = 7;
  missing.add("pass", {}, sequence);
  EXPECT_NE(std::move(missing).finish().error().text().find("no such sequence"), std::string::npos);
  TaskGraphBuilder wrong(1);
  const std::vector<std::pair<Op, double>> sums{{Collective{CollectiveKind::all_reduce, 8, DType::fp32, {}, {}}, 1}};
  wrong.add("pass", {}, wrong.add_sequence(sums));
  EXPECT_NE(std::move(wrong).finish().error().text().find("neither kernel nor host work"), std::string::npos);
  TaskGraphBuilder waits(1);
  const std::vector<std::pair<Op, double>> host{{HostWork{Duration::milliseconds(1)}, 2}};
  waits.add("pass", {}, waits.add_sequence(host));
  EXPECT_TRUE(std::move(waits).finish().ok());
}

TEST(Sequence, ACollectiveRunsOnceAtLeast) {
  TaskGraphBuilder builder(2);
  Collective none{CollectiveKind::all_reduce, 8, DType::fp32, {}, {}};
  none.times = 0;
  builder.add_collective("sum", {Stream::comm}, none, Partition::strided(2, 1));
  EXPECT_FALSE(std::move(builder).finish().ok());
}

}  // namespace
}  // namespace distsim::graph
