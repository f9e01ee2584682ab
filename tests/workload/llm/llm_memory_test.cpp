// What frameworks hold besides weights, gradients, optimizer state and activations (framework.memory), by hand.
#include "llm_fixtures.hpp"

namespace distsim::workload {
namespace {

constexpr std::int64_t kRows = 4 * 32, kWords = 50'000;

/// One block under a head whose logits outweigh it.
ModelSpec with_many_words() {
  ModelSpec m = small_llm(1, 64);
  m.as<LlmSpec>().vocabulary = kWords;
  return m;
}

RankMemory first_rank(const ModelSpec& m, const FrameworkSpec& f) { return built_llm(m, 2, f).memory.at(0); }

TEST(LlmMemory, LogitsTakeWhatTheLossHolds) {
  FrameworkSpec f;
  const auto activations = [&](std::int64_t logit_bytes, bool fused) {
    f.memory.logit_bytes = logit_bytes;
    f.kernels.fuse_loss = fused;
    return first_rank(with_many_words(), f).activations;
  };
  EXPECT_EQ(activations(12, true) - activations(4, true), 8 * kRows * kWords);
  EXPECT_EQ(activations(6, true) - activations(4, true), 2 * kRows * kWords);
  EXPECT_EQ(activations(0, true), activations(4, true)) << "logit and gradient in 16 bits";
  EXPECT_EQ(activations(0, false), activations(12, false)) << "log-softmax and two gradients in fp32";
  f.kernels.chunked_loss = true;
  EXPECT_LT(activations(12, false), kRows * kWords) << "made chunk by chunk";
}

TEST(LlmMemory, NarrowProductsMayKeepWideInputs) {
  ModelSpec m = small_llm(2, 64);
  FrameworkSpec f;
  const std::int64_t wide = first_rank(m, f).activations;
  m.precision = Precision::fp8_current;
  EXPECT_LT(first_rank(m, f).activations, wide);
  f.memory.keeps_narrow = false;
  EXPECT_EQ(first_rank(m, f).activations, wide);
}

/// 2 stages of 8 ranks: each has 2 bytes of 16-bit gradients a parameter, and besides 4 of fp32 ones; else a copy of its
/// eighth while the optimizer runs.
TEST(LlmMemory, Bf16SumsInFp32AreNotSplit) {
  ModelSpec m = small_llm(2, 64);
  m.parallel.pipeline = 2;
  m.parallel.shard = StateSplit::optimizer;
  FrameworkSpec f;
  f.parallel.main_gradient_bytes = 0;
  const auto split = static_cast<double>(first_rank(m, f).gradients);
  f.memory.bf16_sums_in_fp32 = true;
  EXPECT_NEAR(static_cast<double>(first_rank(m, f).gradients) / split, (2 + 4) / 2.0, 1e-4);
  m.precision = Precision::fp16;
  EXPECT_EQ(static_cast<double>(first_rank(m, f).gradients), split);
  m.precision = Precision::bf16;
  m.parallel.pipeline = 1;
  const std::int64_t alone = first_rank(m, f).gradients;
  f.memory.bf16_sums_in_fp32 = false;
  EXPECT_EQ(first_rank(m, f).gradients, alone) << "the pipeline's optimizer";
}

/// 1f1b: the first of 2 stages has 2 micro-batches in flight; the last sends nothing on.
TEST(LlmMemory, StagesMayKeepWhatTheyHaveSent) {
  ModelSpec m = small_llm(2, 64);
  m.parallel.pipeline = 2;
  m.parallel.schedule = PipelineSchedule::one_f_one_b;
  FrameworkSpec f;
  const auto before = built_llm(m, 2, f).memory;
  f.memory.keeps_outputs = true;
  const auto after = built_llm(m, 2, f).memory;
  EXPECT_EQ(after.at(0).activations - before.at(0).activations, 2 * kActivations);
  EXPECT_EQ(after.at(8).activations, before.at(8).activations);
}

TEST(LlmMemory, BucketsAndTheStepOfTheOptimizerAreBuffers) {
  const ModelSpec m = small_llm(2, 64);
  FrameworkSpec f;
  const RankMemory without = first_rank(m, f);
  f.memory.buffers = Bytes(1'000'000);
  EXPECT_EQ(first_rank(m, f).buffers - without.buffers, 1'000'000);
  f.memory.buffers = Bytes(0);
  f.memory.step_bytes = 1;
  EXPECT_EQ(first_rank(m, f).buffers, without.buffers) << "less than the activations, which are gone by then";
  f.parallel.main_gradient_bytes = 0;
  f.memory.step_bytes = 60;
  const std::int64_t parameters = built_llm(m, 2, f).dense_parameters;
  EXPECT_NEAR(static_cast<double>(first_rank(m, f).buffers - without.buffers),
              static_cast<double>((60 + 4) * parameters - without.activations), 64)
      << "16-bit gradients are read as a copy in fp32";
}

/// Weights, gradients and optimizer state of all ranks together are those of the model, however its experts are split:
/// also where each GPU has but one.
TEST(LlmMemory, SplitStateAddsUpToTheModelForEveryDegreeOfExperts) {
  ModelSpec m = small_llm(4, 64);
  m.as<LlmSpec>().experts = 8;
  m.parallel.shard = StateSplit::weights;
  const FrameworkSpec f;
  std::map<std::int64_t, std::int64_t> of_degree;
  for (const std::int64_t degree : {1, 2, 4, 8}) {
    m.parallel.expert = degree;
    const Workload w = built_llm(m, 2, f);
    const RankMemory& rank = w.memory.at(0);
    of_degree[degree] = 16 * (rank.weights + rank.gradients + rank.optimizer);
    EXPECT_NEAR(static_cast<double>(of_degree[degree]), static_cast<double>(of_degree[1]),
                1e-3 * static_cast<double>(of_degree[1]))
        << degree;
    EXPECT_EQ(bytes_of_first_rank(w).count("gradients.experts"), 1u) << degree;
  }
}

}  // namespace
}  // namespace distsim::workload
