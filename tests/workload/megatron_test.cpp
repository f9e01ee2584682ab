// Megatron-style GPT: communication by hand, conservation over the ways to split it, memory, refusals.
#include <gtest/gtest.h>

#include <map>

#include "sim/workload/llm/megatron_spec.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

/// 2 blocks of width 64, 4 heads, 32 tokens, 128 words; 16 bit.
ModelSpec small() {
  ModelSpec m;
  m.name = "small";
  m.family = find_family("megatron");
  m.global_batch = 64;
  m.precision = Precision::bf16;
  m.optimizer = graph::OptimizerKind::adam;
  m.as<MegatronSpec>().layers = 2;
  m.as<MegatronSpec>().hidden = 64;
  m.as<MegatronSpec>().heads = 4;
  m.as<MegatronSpec>().sequence = 32;
  m.as<MegatronSpec>().vocabulary = 128;
  m.as<MegatronSpec>().micro_batch = 4;
  return m;
}
Result<Workload> build(const ModelSpec& m, std::uint32_t nodes = 2) {
  return build_workload(m, FrameworkSpec{}, {nodes, 8, Bytes(80'000'000'000)});
}
Workload built(const ModelSpec& m) {
  auto w = build(m);
  EXPECT_TRUE(w.ok()) << w.error().text();
  return *std::move(w);
}

/// Bytes of a gradient, as the replicas' first collective has them.
std::int64_t w_gradient(const Workload& w) {
  for (const graph::Task& task : w.graph.tasks) {
    const auto* c = std::get_if<graph::Collective>(&w.graph.ops[task.first_op]);
    if (c && task.phase == graph::Phase::gradient_sync) return graph::size_of(c->dtype);
  }
  return 0;
}

/// Collectives by kind, size of their groups, distance of their members and bytes: how often.
using Key = std::tuple<graph::CollectiveKind, std::uint32_t, std::uint32_t, std::int64_t>;
std::map<Key, int> collectives(const Workload& w) {
  std::map<Key, int> out;
  for (const graph::Task& task : w.graph.tasks) {
    const auto* c = std::get_if<graph::Collective>(&w.graph.ops[task.first_op]);
    if (!c) continue;
    const graph::Partition& p = w.graph.partitions[task.partition];
    ++out[{c->kind, p.size, p.stride, c->bytes}];
  }
  return out;
}
constexpr std::int64_t kActivations = 4 * 32 * 64 * 2;  // micro-batch x tokens x width x 2 bytes

TEST(Megatron, TensorParallelReducesTwiceABlockAndPass) {
  // Forward: 2 a block, 1 after the embedding. Backward: 2 a block, 1 before the head. 4 + 1 + 4 + 1 = 10 a micro-step,
  // and one of 2 fp32 a token at the loss. 8 replicas take 64 samples by 4 at a time: 2 micro-steps.
  ModelSpec m = small();
  m.as<MegatronSpec>().tensor = 2;
  const auto c = collectives(built(m));
  EXPECT_EQ(c.at({graph::CollectiveKind::all_reduce, 2, 1, kActivations}), 20);
  EXPECT_EQ(c.at({graph::CollectiveKind::all_reduce, 2, 1, 2 * 4 * 32 * 4}), 2);
}

TEST(Megatron, SequenceParallelGathersAndScattersInstead) {
  // Every all-reduce becomes a reduce-scatter and a gather, the first of them before, the second after the part in
  // between.
  ModelSpec m = small();
  m.as<MegatronSpec>().tensor = 2;
  m.as<MegatronSpec>().sequence_parallel = true;
  const auto c = collectives(built(m));
  EXPECT_EQ(c.count({graph::CollectiveKind::all_reduce, 2, 1, kActivations}), 0u);
  EXPECT_EQ(c.at({graph::CollectiveKind::all_gather, 2, 1, kActivations}), 20);
  EXPECT_EQ(c.at({graph::CollectiveKind::reduce_scatter, 2, 1, kActivations}), 20);
}

TEST(Megatron, ReplicasSumTheirGradients) {
  // A block, tensor 2: qkv 64 x 96 + 96, projection 32 x 64 + 64, up 64 x 128 + 128, down 128 x 64 + 64, norms 4 x 64.
  const std::int64_t block = 64 * 96 + 96 + 32 * 64 + 64 + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  ModelSpec m = small();
  m.as<MegatronSpec>().tensor = 2;
  const Workload w = built(m);
  const auto c = collectives(w);
  int blocks = 0;
  for (const auto& [key, count] : c) {
    const auto& [kind, size, stride, bytes] = key;
    if (kind == graph::CollectiveKind::all_reduce && size == 8 && stride == 2 && bytes == block * w_gradient(w))
      blocks += count;
  }
  EXPECT_EQ(blocks, 2);  // once an iteration, not once a micro-step
}

TEST(Megatron, ExpertsExchangeTheirTokens) {
  // 4 experts on 4 GPUs, 2 a token: all-to-all of 2 x activations; there and back, forward and backward, 2 blocks, 64 /
  // (16 x 4) = 1 micro-step.
  ModelSpec m = small();
  m.as<MegatronSpec>().experts = 4;
  m.as<MegatronSpec>().expert = 4;
  const auto c = collectives(built(m));
  EXPECT_EQ(c.at({graph::CollectiveKind::all_to_all, 4, 1, 2 * kActivations}), 8);
  // Gradients of an expert are summed over the 4 GPUs that hold it, 4 apart; all others over 16.
  int experts = 0, others = 0;
  for (const auto& [key, count] : c) {
    if (std::get<0>(key) != graph::CollectiveKind::all_reduce) continue;
    if (std::get<1>(key) == 4 && std::get<2>(key) == 4) experts += count;
    if (std::get<1>(key) == 16) others += count;
  }
  EXPECT_EQ(experts, 2);
  EXPECT_EQ(others, 4);  // embedding, 2 blocks, head
}

TEST(Megatron, ShardedWeightsAreGatheredForEachPass) {
  // ZeRO 3: embedding, 2 blocks and head, forward and backward; gradients scattered once each.
  ModelSpec m = small();
  m.as<MegatronSpec>().zero = 3;
  int gathers = 0, scatters = 0;
  for (const auto& [key, count] : collectives(built(m))) {
    if (std::get<0>(key) == graph::CollectiveKind::all_gather) gathers += count;
    if (std::get<0>(key) == graph::CollectiveKind::reduce_scatter) scatters += count;
    EXPECT_NE(std::get<0>(key), graph::CollectiveKind::all_reduce);
  }
  EXPECT_EQ(gathers, 8);
  EXPECT_EQ(scatters, 4);
}

TEST(Megatron, ShardingSavesMemoryStageByStage) {
  std::int64_t last = INT64_MAX;
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().zero = stage;
    const RankMemory memory = built(m).memory.at(0);
    EXPECT_LT(memory.total(), last) << stage;
    last = memory.total();
  }
}

TEST(Megatron, UsefulWorkDoesNotDependOnTheSplit) {
  const double alone = built(small()).model_flops;
  for (const std::int64_t t : {2, 4}) {
    ModelSpec m = small();
    m.as<MegatronSpec>().tensor = t;
    EXPECT_NEAR(built(m).model_flops, alone, alone * 1e-9) << t;
  }
}

TEST(Megatron, Refusals) {
  const auto refused = [](auto change, const std::string& message) {
    ModelSpec m = small();
    change(m);
    const auto w = build(m);
    ASSERT_FALSE(w.ok()) << message;
    EXPECT_NE(w.error().text().find(message), std::string::npos) << w.error().text();
  };
  refused([](ModelSpec& m) { m.as<MegatronSpec>().tensor = 32; },
          "model.megatron.tensor: found 32, expected a divisor of 16 GPUs");
  refused([](ModelSpec& m) { m.global_batch = 60; }, "model.global_batch: found 60, expected a multiple of 64");
  refused(
      [](ModelSpec& m) {
        m.as<MegatronSpec>().hidden = 1 << 24;
        m.as<MegatronSpec>().layers = 4096;
      },
      "EiB of weights or activations");
  refused(
      [](ModelSpec& m) {
        m.as<MegatronSpec>().hidden = 1 << 16;
        m.as<MegatronSpec>().layers = 64;
      },
      "TB over): optimizer");
}

TEST(Megatron, SaysHowTheBatchIsDivided) {
  ModelSpec m = small();
  m.as<MegatronSpec>().tensor = 4;
  m.global_batch = 32;
  const graph::Assumption four{graph::AssumptionKind::batch, "batch 32: 4 replicas run 2 micro-steps of 4 samples"};
  EXPECT_EQ(built(m).assumptions.front(), four);
  m.as<MegatronSpec>().pipeline = 2;
  m.as<MegatronSpec>().micro_batch = 1;
  m.global_batch = 1;
  const graph::Assumption one{graph::AssumptionKind::batch, "batch 1: 1 replica runs 1 micro-step of 1 sample"};
  const auto w = build(m, 1);
  ASSERT_TRUE(w.ok()) << w.error().text();
  EXPECT_EQ(w->assumptions.front(), one);
  EXPECT_NE(w->assumptions.at(1).text.find("2 stages of 1 block;"), std::string::npos) << w->assumptions.at(1).text;
}

}  // namespace
}  // namespace distsim::workload
