// A language model split over GPUs: bytes of each dimension by hand, conservation over the ways to split, memory,
// refusals.
#include "llm_fixtures.hpp"

namespace distsim::workload {
namespace {

ModelSpec small() { return small_llm(2, 64); }

TEST(LlmLayout, TensorParallelReducesTwiceABlockAndPass) {
  // Forward: 2 a block, 1 after the embedding. Backward: 2 a block, 1 before the head. 4 + 1 + 4 + 1 = 10 a micro-step;
  // 3 fp32 a token at the loss, each way. 8 replicas take 64 samples by 4 at a time: 2 micro-steps.
  ModelSpec m = small();
  m.parallel.tensor = 2;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("tensor.all_reduce"), 20 * kActivations + 2 * 2 * 3 * 4 * 32 * 4);
}

TEST(LlmLayout, SequenceParallelGathersAndScattersInstead) {
  // Every all-reduce becomes a scatter and a gather; the inputs of split products are gathered again in the backward
  // pass: twice a block and once for the head.
  ModelSpec m = small();
  m.parallel.tensor = 2;
  m.parallel.sequence_parallel = true;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("tensor.reduce_scatter"), 20 * kActivations);
  EXPECT_EQ(bytes.at("tensor.all_gather"), (20 + 10) * kActivations);
}

TEST(LlmLayout, ContextParallelPassesKeysAndValuesAround) {
  // 4 contexts: a block gathers keys and values of 4 x 32 tokens, 2 x 64 wide; their gradients too on the way back.
  ModelSpec m = small();
  m.parallel.context = 4;
  m.parallel.context_exchange = ContextExchange::all_gather;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  const std::int64_t keys = 4 * 32 * 2 * 64 * 2, micro_steps = 64 / (4 * 4);
  EXPECT_EQ(bytes.at("context.all_gather"), 2 * keys * micro_steps);
  EXPECT_EQ(bytes.at("context.reduce_scatter"), 2 * keys * micro_steps);
  m.parallel.context_exchange = ContextExchange::ulysses;
  // Queries, keys, values and results of a rank's 32 tokens, there and back.
  EXPECT_EQ(bytes_of_first_rank(built_llm(m)).at("context.all_to_all"), 2 * 2 * (4 * 8 * 4 * 64 * 2) * micro_steps);
}

TEST(LlmLayout, ReplicasSumTheirGradients) {
  // A block, tensor 2: qkv 64 x 96 + 96, projection 32 x 64 + 64, up 64 x 128 + 128, down 128 x 64 + 64, norms 4 x 64;
  // embedding 64 x 64, positions 32 x 64, last norm 2 x 64.
  const std::int64_t block = 64 * 96 + 96 + 32 * 64 + 64 + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  ModelSpec m = small();
  m.parallel.tensor = 2;
  const auto bytes = bytes_of_first_rank(built_llm(m));
  EXPECT_EQ(bytes.at("gradients"), 2 * (2 * block + 64 * 64 + 32 * 64 + 2 * 64)) << "once an iteration, 2 bytes each";
}

TEST(LlmLayout, ExpertsExchangeTheirTokens) {
  // 4 experts on 4 GPUs, 2 a token: all-to-all of 2 x activations; there and back, forward and backward, 2 blocks, 64 /
  // (16 x 4) = 1 micro-step.
  ModelSpec m = small();
  m.as<LlmSpec>().experts = 4;
  m.parallel.expert = 4;
  const Workload w = built_llm(m);
  EXPECT_EQ(bytes_of_first_rank(w).at("expert.all_to_all"), 8 * 2 * kActivations);
  // Gradients of an expert are summed over the 4 GPUs that hold it, 4 apart; all others over 16.
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    if (w.graph.names[task.name] == "gradients.experts") {
      EXPECT_EQ(members.size(), 4u);
      EXPECT_EQ(members[1] - members[0], 4u);
    }
    if (w.graph.names[task.name] == "gradients") EXPECT_EQ(members.size(), 16u);
  });
}

TEST(LlmLayout, SplitWeightsAreGatheredForEachPass) {
  // Forward and backward all weights, gradients scattered once, whatever the micro-steps before the last.
  ModelSpec m = small();
  m.global_batch = 3 * 64;
  m.parallel.shard = StateSplit::weights;
  const Workload w = built_llm(m);
  const auto bytes = bytes_of_first_rank(w);
  const double all = static_cast<double>(w.dense_parameters) * 2;
  EXPECT_NEAR(static_cast<double>(bytes.at("weights.gather")), 3 * 2 * all, 0.01 * all);
  EXPECT_NEAR(static_cast<double>(bytes.at("gradients")), all, 0.01 * all);
}

TEST(LlmLayout, AShardGroupSumsItsShardsWithTheOthers) {
  ModelSpec m = small();
  m.parallel.shard = StateSplit::weights;
  m.parallel.shard_group = 4;
  std::map<std::pair<std::size_t, std::uint32_t>, std::int64_t> reduced;
  const Workload w = built_llm(m);
  for_each_group(w.graph, [&](const graph::Task& task, const std::vector<std::uint32_t>& members) {
    const auto& c = std::get<graph::Collective>(w.graph.ops[task.first_op]);
    if (task.phase == graph::Phase::gradient_sync && members.front() == 0)
      reduced[{members.size(), members[1] - members[0]}] += c.bytes * c.times;
  });
  ASSERT_EQ(reduced.size(), 2u) << "within groups of neighbours, then among their 4 copies";
  EXPECT_NEAR(static_cast<double>(reduced.at({4, 4})), static_cast<double>(reduced.at({4, 1})) / 4, 8);
}

TEST(LlmLayout, SplittingSavesMemoryStepByStep) {
  std::int64_t last = INT64_MAX;
  for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
    ModelSpec m = small_llm(64, 64);
    m.as<LlmSpec>().hidden = 1024;
    m.parallel.shard = shard;
    const RankMemory memory = built_llm(m).memory.at(0);
    EXPECT_LT(memory.total(), last) << name_of(shard);
    last = memory.total();
  }
}

TEST(LlmLayout, UsefulWorkDoesNotDependOnTheSplit) {
  const double alone = built_llm(small()).model_flops;
  for (const std::int64_t t : {2, 4}) {
    ModelSpec m = small();
    m.parallel.tensor = t;
    EXPECT_NEAR(built_llm(m).model_flops, alone, alone * 1e-9) << t;
    m.parallel.tensor = 1;
    m.parallel.context = t;
    EXPECT_NEAR(built_llm(m).model_flops, alone, alone * 1e-9) << t;
  }
}

TEST(LlmLayout, Refusals) {
  const auto refused = [](auto change, const std::string& message) { expect_refused(small(), change, message); };
  refused([](ModelSpec& m) { m.parallel.tensor = 32; }, "expected a divisor of 16 GPUs");
  refused([](ModelSpec& m) { m.parallel.tensor = 8; }, "parallel.tensor: found 8, expected a divisor of heads (4)");
  refused([](ModelSpec& m) { m.parallel.data = 8; }, "parallel.data: found 8, expected 16");
  refused([](ModelSpec& m) { m.parallel.context = 16, m.as<LlmSpec>().sequence = 24; }, "parallel.context: found 16");
  refused([](ModelSpec& m) { m.parallel.expert = 2; },
          "parallel.expert: found 2, expected 1 where there are no experts");
  refused([](ModelSpec& m) { m.parallel.shard_group = 3; }, "parallel.shard_group: found 3, expected a divisor");
  refused([](ModelSpec& m) { m.global_batch = 60; }, "model.global_batch: found 60, expected a multiple of 64");
  refused([](ModelSpec& m) { m.as<LlmSpec>().hidden = 1 << 20, m.as<LlmSpec>().layers = 4096; },
          "EiB of weights or activations");
  refused([](ModelSpec& m) { m.as<LlmSpec>().hidden = 1 << 16, m.as<LlmSpec>().layers = 64; }, "TB over): optimizer");
}

TEST(LlmLayout, SaysHowTheBatchIsDividedAndWhatWasDecided) {
  ModelSpec m = small();
  m.parallel.tensor = 4;
  m.parallel.recompute = {};
  m.global_batch = 32;
  const auto said = [](const Workload& w, const std::string& text) {
    for (const graph::Assumption& a : w.assumptions)
      if (a.text.find(text) != std::string::npos) return true;
    return false;
  };
  const Workload w = built_llm(m);
  EXPECT_EQ(w.assumptions.front().text, "batch 32: 4 replicas run 2 micro-steps of 4 samples");
  EXPECT_TRUE(said(w, "parallel.shard: none"));
  EXPECT_TRUE(said(w, "parallel.recompute: none, the least that fits"));
}

}  // namespace
}  // namespace distsim::workload
