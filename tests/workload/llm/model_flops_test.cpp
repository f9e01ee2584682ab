// Operations of a model, and of what it computes again: its own, however kernels split, pad and mask them.
#include <cmath>

#include "../shipped_models.hpp"
#include "llm_fixtures.hpp"
#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"
#include "sim/workload/llm/llm_plan.hpp"
#include "sim/workload/specs/step_mode.hpp"

namespace distsim::workload {
namespace {

constexpr ClusterShape kTwoNodes{2, 8, Bytes(80'000'000'000)};
constexpr std::int64_t kLayers = 2, kExperts = 16;

ModelSpec with_experts(std::int64_t sequence, std::int64_t top_k, std::int64_t expert = 1) {
  ModelSpec m = small_llm(kLayers, 64);
  LlmSpec& s = m.as<LlmSpec>();
  s.sequence = sequence;
  s.experts = kExperts;
  s.top_k = top_k;
  m.parallel.micro_batch = 1;
  m.parallel.expert = expert;
  return m;
}

/// Of experts' products for a routed token, in all three passes of all layers.
double flops_of_routed_token(const LlmSpec& s) { return 3.0 * kLayers * 2 * 2 * double(s.hidden) * double(s.inner()); }

TEST(ModelFlops, ATokenPassesTopKExpertsHoweverTheyDivide) {
  for (const std::int64_t sequence : {1, 2, 5, 7, 8, 9, 31, 53, 54}) {
    const ModelSpec one = with_experts(sequence, 1);
    for (const std::int64_t top_k : {2, 3, 16}) {
      const double more = built_llm(with_experts(sequence, top_k)).model_flops - built_llm(one).model_flops;
      const double expected = double(top_k - 1) * double(sequence) * 64 * flops_of_routed_token(one.as<LlmSpec>());
      EXPECT_NEAR(more, expected, 1e-9 * expected) << sequence << " tokens, top_k " << top_k;
    }
  }
}

/// Of all ranks for a micro-batch of each replica: forward products and attention.
double kernel_flops(const LlmPlan& plan) {
  double sum = 0;
  for (const std::uint32_t kind : plan.kind_of) sum += plan.kinds[kind].work.forward.matrix_flops();
  return sum * plan.ranks_per_stage();
}

TEST(ModelFlops, KernelsAddUpAndMoreTokensAreMoreWork) {
  for (const std::int64_t expert : {1, 2, 16}) {
    double last_model = 0, last_kernels = 0, last_backward = 0;
    for (std::int64_t sequence = 1; sequence <= 40; ++sequence) {
      const ModelSpec m = with_experts(sequence, 3, expert);
      const auto plan = plan_llm(m, {}, kTwoNodes, m.global_batch);
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      const double model = model_flops(*plan).forward * plan->data, kernels = kernel_flops(*plan);
      EXPECT_NEAR(kernels, model, 1e-9 * model) << sequence << " tokens, expert " << expert;
      const double backward = plan->kinds.front().work.backward.matrix_flops();
      EXPECT_GT(model, last_model) << sequence;
      EXPECT_GT(kernels, last_kernels) << sequence;
      EXPECT_GT(backward, last_backward) << sequence;
      last_model = model, last_kernels = kernels, last_backward = backward;
    }
  }
}

TEST(ModelFlops, OneKernelRunsUnevenGroups) {
  const auto kernels_with = [](std::int64_t sequence) {
    const ModelSpec m = with_experts(sequence, 1);
    const auto plan = plan_llm(m, {}, kTwoNodes, m.global_batch);
    EXPECT_TRUE(plan.ok());
    const PartWork& work = plan->kinds.front().work;
    return std::pair(work.forward.kernels, work.backward.kernels);
  };
  EXPECT_EQ(kernels_with(2 * kExperts), kernels_with(2 * kExperts + 3));
  EXPECT_EQ(kernels_with(2 * kExperts), kernels_with(kExperts - 3));
}

TEST(ModelFlops, DroppedTokensAndPaddingAreNoWorkOfTheModel) {
  const auto flops_with = [](double capacity) {
    ModelSpec m = with_experts(32, 2);
    m.as<LlmSpec>().router = LlmRouter::capacity;
    m.as<LlmSpec>().capacity = capacity;
    m.parallel.recompute.kind = RecomputeKind::full;
    const Workload w = built_llm(m);
    return std::pair(w.model_flops, w.repeated_flops);
  };
  const auto [all, repeated] = flops_with(1);
  const double routed = 2.0 * 32 * 64 * flops_of_routed_token(with_experts(32, 2).as<LlmSpec>());
  for (const double capacity : {0.01, 0.1, 0.5, 0.97, 1.0, 1.25, 4.0}) {
    const double of_expert = 2.0 * 32 / kExperts;  // tokens, of which it takes a whole number
    const double dropped = routed * (1 - std::min(1.0, std::ceil(capacity * of_expert) / of_expert));
    EXPECT_NEAR(flops_with(capacity).first, all - dropped, 1e-9 * all) << capacity;
    EXPECT_NEAR(flops_with(capacity).second, repeated - dropped / 3, 1e-9 * all) << capacity;
  }
}

/// Computed again in full, blocks repeat their forward pass as the model counts it, whatever computes scores and experts.
TEST(ModelFlops, WhatIsRepeatedIsCountedAsTheModelIs) {
  const auto of_layers = [](ModelSpec m, std::int64_t layers, const FrameworkSpec& f) {
    m.as<LlmSpec>().layers = layers;
    const Workload w = built_llm(m, 2, f);
    return std::pair(w.model_flops, w.repeated_flops);
  };
  ModelSpec dense = small_llm(2, 64), experts = with_experts(33, 3, 2), latent = small_llm(2, 64), window = dense;
  experts.as<LlmSpec>().router = LlmRouter::capacity;
  experts.as<LlmSpec>().capacity = 1.5;
  latent.as<LlmSpec>().attention = LlmAttention::mla;
  latent.as<LlmSpec>().kv_lora = 16;
  latent.as<LlmSpec>().rope_head_dim = 8;
  window.as<LlmSpec>().attention = LlmAttention::window;
  window.as<LlmSpec>().window = 8;
  for (ModelSpec m : {dense, experts, latent, window}) {
    m.parallel.recompute.kind = RecomputeKind::full;
    for (const AttentionKernels kernels :
         {AttentionKernels::unfused, AttentionKernels::fused_softmax, AttentionKernels::flash}) {
      for (const std::int64_t tensor : {1, 2, 4}) {
        FrameworkSpec f;
        f.kernels.attention = kernels;
        m.parallel.tensor = tensor;
        const auto [model, repeated] = of_layers(m, 2, f);
        const auto [more, more_repeated] = of_layers(m, 4, f);
        EXPECT_NEAR(more_repeated, 2 * repeated, 1e-9 * repeated) << tensor;
        EXPECT_NEAR(more_repeated - repeated, (more - model) / 3, 1e-9 * model) << tensor;
      }
    }
  }
}

/// Eight samples on one GPU, in full precision of the model's file.
Workload on_one_gpu(ModelSpec m, const FrameworkSpec& f) {
  m.global_batch = 8;
  m.per_gpu_batch = 0;
  m.accumulation = 1;
  m.memory_check = false;
  auto w = build_workload(m, f, {1, 1, Bytes(80'000'000'000)});
  EXPECT_TRUE(w.ok()) << m.name << ": " << w.error().text();
  return w.ok() ? *std::move(w) : Workload();
}

/// The framework with other kernels, and other ways to play a model.
std::vector<FrameworkSpec> variants_of(const FrameworkSpec& framework) {
  std::vector<FrameworkSpec> out;
  for (const bool layers : {true, false}) {
    for (const AttentionKernels kernels :
         {AttentionKernels::unfused, AttentionKernels::fused_softmax, AttentionKernels::flash}) {
      FrameworkSpec f = framework;
      f.parallel.layer_by_layer = layers;
      f.kernels.attention = kernels;
      out.push_back(std::move(f));
    }
  }
  return out;
}

/// A dense model's own operations are those of no framework, no kernel and no way to play it.
TEST(ModelFlops, OfShippedDenseModelsAreOneWhoeverTrainsThem) {
  std::vector<FrameworkSpec> frameworks = variants_of({});
  for (const char* name : {"pytorch", "paddle", "tf2", "mxnet_horovod", "megatron", "megatron_core"})
    frameworks.push_back(shipped_framework(name));
  int models = 0;
  for (const std::string& name : shipped_model_names()) {
    ModelSpec m = shipped_model(name);
    if (m.family != find_family("llm") || m.as<LlmSpec>().experts > 0) continue;
    ++models;
    m.parallel = {};  // of one GPU
    const Workload first = on_one_gpu(m, frameworks.front());
    for (const FrameworkSpec& f : frameworks) {
      const Workload w = on_one_gpu(m, f);
      EXPECT_NEAR(w.model_flops, first.model_flops, 1e-12 * first.model_flops) << name << " " << f.name;
    }
  }
  EXPECT_GT(models, 60);
}

TEST(ModelFlops, OfALayerByLayerModelAreThoseOfItsBlocksInEveryModeAndWithRecomputation) {
  for (const char* name : {"gpt2_small", "gpt2_large", "bert_large_seq512", "opt_13"}) {
    for (const StepMode mode : {StepMode::train, StepMode::inference}) {
      for (const std::int64_t again : {0, 1, 5}) {
        ModelSpec m = shipped_model(name);
        m.as<StepSpec>().mode = mode;
        m.parallel.recompute = {again > 0 ? RecomputeKind::full : RecomputeKind::none, again, {}};
        const std::vector<FrameworkSpec> frameworks = variants_of({});
        const Workload first = on_one_gpu(m, frameworks.front());
        for (const FrameworkSpec& f : frameworks) {
          const Workload w = on_one_gpu(m, f);
          EXPECT_NEAR(w.model_flops, first.model_flops, 1e-12 * first.model_flops) << name << again;
          EXPECT_NEAR(w.repeated_flops, first.repeated_flops, 1e-12 * first.model_flops) << name << again;
        }
      }
    }
  }
}

TEST(ModelFlops, HalfOfCausalScoresAndNoPaddingCount) {
  const FrameworkSpec megatron = shipped_framework("megatron");
  const double t = 8 * 1024, h = 768, inner = 12 * h * h;  // of a token and layer
  const double gpt = 3 * (2 * t * 12 * inner + 12 * 2 * t * 1024 * h + 2 * t * 50304 * h);
  ModelSpec small = shipped_model("gpt2_small");
  small.as<LlmSpec>().vocabulary = 50304;
  EXPECT_NEAR(on_one_gpu(small, megatron).model_flops, gpt, 1e-12 * gpt);
  ModelSpec bert = shipped_model("bert_large_seq512"), full = bert;
  full.as<LlmSpec>().mean_tokens = 0;
  const double words = 8 * 256, width = 1024,
               missing = words * 24 * 2 * 12 * width * width + 8 * 24 * 4 * width * (512.0 * 512 - 256.0 * 256);
  for (const char* name : {"pytorch", "tf2"}) {  // one of them batches by length
    const FrameworkSpec f = shipped_framework(name);
    const double found = on_one_gpu(full, f).model_flops - on_one_gpu(bert, f).model_flops;
    EXPECT_NEAR(found, 3 * missing, 1e-9 * found) << name;
  }
}

TEST(ModelFlops, DocumentsOfAMeanLengthAreAFraction) {
  const auto flops_with = [](std::int64_t mean, std::int64_t context) {
    ModelSpec m = small_llm(1, 64);
    m.as<LlmSpec>().sequence = 8192;
    m.as<LlmSpec>().mean_tokens = mean;
    m.parallel.micro_batch = 1;
    m.parallel.context = context;
    const auto plan = plan_llm(m, {}, kTwoNodes, m.global_batch);
    EXPECT_TRUE(plan.ok());
    return std::pair(model_flops(*plan).forward, kernel_flops(*plan) / plan->data);
  };
  const double none = flops_with(128, 1).first, of_key = 2.0 * 8192 * 64;  // causal: half of two products
  double last = 0;
  for (const std::int64_t mean : {128, 129, 300, 511, 512, 513, 2730, 2731, 4095, 4096, 4097, 8191, 8192, 9000}) {
    const double expected = none + of_key * static_cast<double>(std::min<std::int64_t>(mean, 8192) - 128);
    for (const std::int64_t context : {1, 2, 8}) {
      EXPECT_NEAR(flops_with(mean, context).first, expected, 1e-9 * expected) << mean;
      EXPECT_NEAR(flops_with(mean, context).second, expected, 1e-9 * expected) << mean << ", context " << context;
    }
    EXPECT_GE(expected, last);
    last = expected;
  }
}

}  // namespace
}  // namespace distsim::workload
