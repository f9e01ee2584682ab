// Low-rank adapters: frozen weights have no gradients, no optimizer state and no copies to bring up to date.
#include "llm_fixtures.hpp"

namespace distsim::workload {
namespace {

ModelSpec with_adapters(std::int64_t experts = 0) {
  ModelSpec m = small_llm(8, 256);
  m.as<LlmSpec>().training = LlmTraining::lora;
  m.as<LlmSpec>().experts = experts;
  return m;
}

std::int64_t sent(const Workload& w, const std::string& name) {
  const auto bytes = bytes_of_first_rank(w);
  const auto it = bytes.find(name);
  return it == bytes.end() ? 0 : it->second;
}

/// Gradients of 2 bytes are scattered, weights of 2 bytes gathered: of the same parameters.
TEST(LlmLora, ASplitOptimizerGathersWhatItUpdates) {
  FrameworkSpec f;
  f.gradients.each_micro_step = false;
  for (const std::int64_t experts : {0, 8}) {
    for (const std::int64_t pipeline : {1, 2, 4}) {
      for (const std::int64_t tensor : {1, 2}) {
        for (const StateSplit shard : {StateSplit::optimizer, StateSplit::gradients}) {
          ModelSpec m = with_adapters(experts);
          m.parallel.pipeline = pipeline;
          m.parallel.tensor = tensor;
          m.parallel.shard = shard;
          const Workload w = built_llm(m, 2, f);
          EXPECT_GT(sent(w, "weights.gather"), 0);
          for (const std::string of : {"", ".experts"})
            EXPECT_NEAR(static_cast<double>(sent(w, "weights.gather" + of)),
                        static_cast<double>(sent(w, "gradients" + of)), 4)
                << pipeline << tensor << of;
          m.parallel.shard = StateSplit::none;
          EXPECT_EQ(sent(built_llm(m), "weights.gather"), 0);
        }
      }
    }
  }
}

/// Whoever has a part of a weight alone gathers it, frozen or not, and adapters with it.
TEST(LlmLora, SplitWeightsAreGatheredInWhole) {
  for (const std::int64_t pipeline : {1, 2}) {
    ModelSpec m = with_adapters();
    m.parallel.pipeline = pipeline;
    m.parallel.shard = StateSplit::weights;
    const std::int64_t some = sent(built_llm(m), "weights.gather");
    m.as<LlmSpec>().lora_rank *= 2;
    const std::int64_t more = sent(built_llm(m), "weights.gather");
    m.as<LlmSpec>().training = LlmTraining::pretrain;
    EXPECT_NEAR(static_cast<double>(more - some), static_cast<double>(some - sent(built_llm(m), "weights.gather")), 32);
    EXPECT_GT(more, some);
  }
}

/// Of an adapter of rank r: bytes of weights, in both widths, as of any parameter that is trained.
TEST(LlmLora, AdaptersAreWeightsThatAreHeld) {
  FrameworkSpec f;
  for (const std::int64_t experts : {0, 8}) {
    for (const StateSplit shard : {StateSplit::none, StateSplit::optimizer, StateSplit::weights}) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        ModelSpec m = with_adapters(experts);
        m.parallel.shard = shard;
        m.precision = precision;
        const RankMemory some = built_llm(m, 2, f).memory.at(0);
        m.as<LlmSpec>().lora_rank *= 2;
        const RankMemory more = built_llm(m, 2, f).memory.at(0);
        // Gradients are as wide as what is computed, and Adam holds 8 bytes: that tells how many parameters there are more.
        const auto updated = static_cast<double>(more.optimizer - some.optimizer) / 8;
        const double masters = precision == Precision::fp32 ? 0 : 4;
        const double ranks =
            shard == StateSplit::optimizer ? 16 : 1;  // weights stay whole where the optimizer is split
        const double held = precision == Precision::fp32 ? 4 : shard == StateSplit::weights ? 0 : 2;
        EXPECT_NEAR(static_cast<double>(more.weights - some.weights), updated * (masters + ranks * held), 16)
            << experts << " " << static_cast<int>(shard);
        EXPECT_GT(more.activations, some.activations);
      }
    }
  }
}

/// However experts are split, each has adapters of its own.
TEST(LlmLora, EachExpertHasAdapters) {
  double all = 0;
  for (const std::int64_t split : {1, 2, 4}) {
    ModelSpec m = with_adapters(8);
    m.parallel.shard = StateSplit::none;
    m.parallel.expert = split;
    const RankMemory memory = built_llm(m).memory.at(0);
    m.as<LlmSpec>().lora_targets = LoraTargets::attention;
    const double of_experts = static_cast<double>(memory.gradients - built_llm(m).memory.at(0).gradients);
    m.as<LlmSpec>().lora_targets = LoraTargets::all;
    m.as<LlmSpec>().experts = 4;
    const double of_half = static_cast<double>(memory.gradients - built_llm(m).memory.at(0).gradients);
    EXPECT_GT(of_half, 0.4 * of_experts);
    if (all == 0) all = of_half;
    EXPECT_NEAR(of_half * static_cast<double>(split), all, 0.1 * all);
  }
}

TEST(LlmLora, AdaptersOfAttentionLeaveExpertsAlone) {
  ModelSpec m = with_adapters(8);
  m.parallel.shard = StateSplit::optimizer;
  const auto all = bytes_of_first_rank(built_llm(m));
  EXPECT_TRUE(all.contains("gradients.experts"));
  m.as<LlmSpec>().lora_targets = LoraTargets::attention;
  const auto some = bytes_of_first_rank(built_llm(m));
  EXPECT_FALSE(some.contains("gradients.experts"));
  EXPECT_FALSE(some.contains("weights.gather.experts"));
  EXPECT_LT(some.at("gradients"), all.at("gradients"));
}

TEST(LlmLora, AFrozenWordEmbeddingIsNotSummed) {
  for (const LlmTraining training : {LlmTraining::pretrain, LlmTraining::sft, LlmTraining::lora}) {
    ModelSpec m = with_adapters();
    m.as<LlmSpec>().training = training;
    m.parallel.pipeline = 2;
    EXPECT_EQ(sent(built_llm(m), "gradients.word_embedding") > 0, training != LlmTraining::lora);
  }
}

/// While a block's weights are there, and those of the next, so are the gradients of what is trained of them.
TEST(LlmLora, FrozenWeightsHaveNoGradientsInBuffers) {
  ModelSpec m = with_adapters();
  m.parallel.shard = StateSplit::weights;
  const std::int64_t some = built_llm(m).memory.at(0).buffers;
  m.as<LlmSpec>().lora_rank = 32;
  const std::int64_t more = built_llm(m).memory.at(0).buffers;
  m.as<LlmSpec>().training = LlmTraining::pretrain;
  const std::int64_t all = built_llm(m).memory.at(0).buffers;
  // Products of a block: 64 to 192, 64 to 64, 64 to 256 and back; adapters of rank 16 more, of 2 bytes each.
  EXPECT_EQ(more - some, (2 + 2 * 2) * 16 * (64 + 192 + 64 + 64 + 2 * (64 + 256)));
  EXPECT_GT(all, some);
}

}  // namespace
}  // namespace distsim::workload
