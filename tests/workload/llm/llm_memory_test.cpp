// What frameworks hold besides weights, gradients, optimizer state and activations (framework.memory), by hand.
#include "llm_fixtures.hpp"
#include "sim/workload/specs/step_mode.hpp"

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

/// Without fp32 copies the optimizer updates the 16-bit weights, in memory and in time.
TEST(LlmMemory, WithoutMasterWeightsTheUpdateReadsSixteenBits) {
  const auto built_with = [](bool masters) {
    FrameworkSpec f;
    f.parallel.master_weights = masters;
    return built_llm(small_llm(2, 128), 2, f);
  };
  const Workload with = built_with(true), without = built_with(false);
  EXPECT_LT(without.memory.at(0).weights, with.memory.at(0).weights);
  EXPECT_EQ(2 * without.memory.at(0).optimizer, with.memory.at(0).optimizer);
  const auto update = [](const Workload& w) {
    for (OpId op(0); op < w.graph.ops.end_id(); op = OpId(op.value() + 1)) {
      if (const auto* found = std::get_if<graph::Optimizer>(&w.graph.ops[op])) return *found;
    }
    return graph::Optimizer{};
  };
  EXPECT_TRUE(update(with).master_weights);
  EXPECT_FALSE(update(without).master_weights);
  EXPECT_EQ(update(without).gradient, graph::DType::bf16);
  EXPECT_EQ(update(without).weight, graph::DType::bf16);
  EXPECT_EQ(update(with).weight, graph::DType::fp32);
  EXPECT_EQ(update(without).parameters, update(with).parameters);
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

ModelSpec in_inference(ModelSpec m) {
  m.as<StepSpec>().mode = StepMode::inference;
  return m;
}

/// No gradient, no optimizer, no master weights: the weights as they are read, and what runs through the model. Libraries and
/// communicators: at most 1 GB.
TEST(LlmMemory, InferenceNeedsWeightsAndActivationsAlone) {
  ModelSpec m = small_llm(4, 64);
  m.as<LlmSpec>().hidden = 1024;
  FrameworkSpec f;
  f.memory.buffers = Bytes(3'000'000'000);
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::fp8_current}) {
    for (const StateSplit shard :
         {StateSplit::none, StateSplit::optimizer, StateSplit::gradients, StateSplit::weights}) {
      m.precision = precision, m.parallel.shard = shard;
      const Workload w = built_llm(in_inference(m), 2, f);
      const RankMemory& rank = w.memory.at(0);
      const double width = precision == Precision::fp32 ? 4 : 2;
      const double all = width * static_cast<double>(w.dense_parameters);
      EXPECT_NEAR(static_cast<double>(rank.weights), shard == StateSplit::weights ? all / 16 : all, 1e-3 * all);
      EXPECT_EQ(rank.gradients + rank.optimizer, 0);
      EXPECT_LE(static_cast<double>(rank.buffers), 1e9 + (shard == StateSplit::weights ? all : 0));
      EXPECT_LE(rank.total(), first_rank(m, f).total()) << "than training";
    }
  }
}

/// Frameworks whose optimizer writes 16-bit copies need no fp32 weights to read those; others cast them.
TEST(LlmMemory, InferenceLayerByLayerHoldsWhatItReads) {
  ModelSpec m = in_inference(small_llm(2, 64));
  m.parallel = {};
  FrameworkSpec f;
  f.parallel.layer_by_layer = true;
  const Workload copied = built_llm(m, 2, f);
  EXPECT_EQ(copied.memory.at(0).weights, 2 * copied.dense_parameters);
  f.kernels.cast_weights = true;
  EXPECT_EQ(built_llm(m, 2, f).memory.at(0).weights, (4 + 2) * copied.dense_parameters);
}

/// Nothing is scattered before all micro-batches have been added up.
TEST(LlmMemory, StagesOfAPipelineHoldWholeGradients) {
  ModelSpec m = small_llm(2, 64);
  const auto gradients = [&](std::int64_t stages, StateSplit shard) {
    m.parallel.pipeline = stages;
    m.parallel.shard = shard;
    return first_rank(m, {}).gradients;
  };
  EXPECT_EQ(gradients(2, StateSplit::gradients), gradients(2, StateSplit::optimizer));
  EXPECT_LT(gradients(1, StateSplit::gradients), gradients(1, StateSplit::optimizer));
}

/// A stage's sums are as many and as wide whatever is split besides, by whatever is wider: what is kept or what is reduced.
TEST(LlmMemory, SumsOfAStageAreAsWideHoweverStateIsSplit) {
  for (const std::int64_t bytes : {0, 2, 4}) {
    for (const bool half : {false, true}) {
      ModelSpec m = small_llm(2, 64);
      m.parallel.pipeline = 2;
      FrameworkSpec f;
      f.parallel.main_gradient_bytes = bytes;
      f.gradients.half_precision = half;
      const auto gradients = [&](StateSplit shard) {
        m.parallel.shard = shard;
        return first_rank(m, f).gradients;
      };
      const std::int64_t whole = gradients(StateSplit::optimizer);
      SCOPED_TRACE(std::to_string(bytes) + (half ? " half" : ""));
      EXPECT_EQ(gradients(StateSplit::gradients), whole);
      EXPECT_EQ(gradients(StateSplit::weights), whole);
    }
  }
}

/// Each rank's share of gradients is as wide as a whole one: in fp32 never 16 bits.
TEST(LlmMemory, SharesOfGradientsInFp32AreOfFp32) {
  for (const std::int64_t bytes : {0, 2, 4}) {
    ModelSpec m = small_llm(2, 64);
    m.precision = Precision::fp32;
    FrameworkSpec f;
    f.parallel.main_gradient_bytes = bytes;
    m.parallel.shard = StateSplit::optimizer;
    const auto whole = static_cast<double>(first_rank(m, f).gradients);
    for (const StateSplit shard : {StateSplit::gradients, StateSplit::weights}) {
      m.parallel.shard = shard;
      const double ranks = 16;
      EXPECT_NEAR(static_cast<double>(first_rank(m, f).gradients) * ranks, whole, 1e-4 * whole) << bytes;
    }
  }
}

/// However far ahead weights are gathered, there are not more of them than the model has.
TEST(LlmMemory, PrefetchGathersNoMoreThanThereIs) {
  ModelSpec m = with_many_words();
  m.as<LlmSpec>().layers = 4;
  m.parallel.shard = StateSplit::weights;
  const FrameworkSpec f;
  const auto buffers = [&](std::int64_t prefetch) {
    m.parallel.prefetch = prefetch;
    return static_cast<double>(first_rank(m, f).buffers);
  };
  const double all = 4 * static_cast<double>(built_llm(m, 2, f).dense_parameters);
  double before = buffers(0);
  for (const std::int64_t prefetch : {1, 2, 4, 8, 64}) {
    const double now = buffers(prefetch);
    EXPECT_GE(now, before) << prefetch;
    EXPECT_LE(now - buffers(0), all) << prefetch;
    before = now;
  }
  EXPECT_EQ(buffers(8), buffers(64));
}

/// Blocks that predict further tokens are there in training alone.
TEST(LlmMemory, InferenceHasNoFurtherPredictions) {
  ModelSpec m = small_llm(2, 64);
  const Workload without = built_llm(in_inference(m));
  m.as<LlmSpec>().mtp_layers = 1;
  const Workload with = built_llm(in_inference(m));
  EXPECT_EQ(with.memory.at(0).total(), without.memory.at(0).total());
  EXPECT_EQ(with.model_flops, without.model_flops);
  EXPECT_EQ(with.graph.ops.size(), without.graph.ops.size());
  EXPECT_GT(first_rank(m, {}).total(), first_rank(small_llm(2, 64), {}).total());
  FrameworkSpec f;
  f.parallel.layer_by_layer = true;
  ModelSpec whole = in_inference(m);
  whole.parallel = {};
  EXPECT_EQ(built_llm(whole, 2, f).placement.find("data parallel"), 0u) << "as without them";
}

}  // namespace
}  // namespace distsim::workload
