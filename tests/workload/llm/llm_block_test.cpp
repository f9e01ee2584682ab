// A block by hand: operations and bytes of Llama's, what is kept by Korthikanti et al.'s formulas, parameter counts.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "../shipped_models.hpp"
#include "sim/workload/llm/llm_work.hpp"

namespace distsim::workload {
namespace {

FrameworkSpec fused() {
  FrameworkSpec f;
  f.kernels.attention = AttentionKernels::flash;
  f.kernels.fuse_elementwise = true;
  f.kernels.fuse_epilogue = true;
  f.kernels.fuse_loss = true;
  return f;
}

/// Sizes of Llama 3 8B, T = 8,192 tokens: h = 4,096, queries 4,096, keys 1,024, inner width 14,336.
LlmSpec llama() {
  LlmSpec m;
  m.layers = 32, m.hidden = 4096, m.heads = 32, m.kv_heads = 8, m.ffn_hidden = 14336;
  m.gated = true, m.norm = LlmNorm::rms, m.positions = LlmPositions::rope;
  m.vocabulary = 128256, m.sequence = 8192;
  return m;
}

const Recompute kNone{RecomputeKind::none, 0, {}};

double bytes_of(const PassWork& pass) {
  double sum = 0;
  for (const auto& [op, n] : pass.ops) {
    if (const auto* e = std::get_if<graph::Elementwise>(&op))
      sum += n * static_cast<double>(e->elements) * (e->reads + e->writes) * 2;
  }
  return sum;
}

TEST(LlmBlock, OperationsOfALlamaBlock) {
  const LlmSpec spec = llama();
  const ParallelSpec parallel;
  const FrameworkSpec f = fused();
  const LlmShape shape{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  const PartWork block = block_work(shape, block_kind(spec, 0), kNone, false);
  const double t = 8192, h = 4096, keys = 1024, inner = 14336;
  const double products = 2 * t * h * (h + 2 * keys) + 2 * t * h * h + 3 * 2 * t * h * inner;
  const double scores = 0.5 * 4 * t * t * h;  // causal: half; two products of all heads
  EXPECT_DOUBLE_EQ(block.forward_flops, products + scores);
  EXPECT_DOUBLE_EQ(block.forward.matrix_flops(), products + scores);
  EXPECT_DOUBLE_EQ(block.backward.matrix_flops(), 2 * (products + scores));
  // Rotary over queries and keys, two residuals, SwiGLU: reads and writes, 2 bytes each.
  EXPECT_DOUBLE_EQ(bytes_of(block.forward), 2 * (2 * t * (h + keys) + 2 * 3 * t * h + 3 * t * inner));
  EXPECT_DOUBLE_EQ(block.dense, h * (h + 2 * keys) + h * h + 3 * h * inner + 2 * h);
}

TEST(LlmBlock, TensorParallelSplitsTheProducts) {
  const LlmSpec spec = llama();
  ParallelSpec parallel;
  parallel.tensor = 8;
  parallel.sequence_parallel = true;
  const FrameworkSpec f = fused();
  LlmShape whole{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  LlmShape split = whole;
  split.tensor = 8;
  const PartWork one = block_work(whole, block_kind(spec, 0), kNone, false);
  const PartWork eighth = block_work(split, block_kind(spec, 0), kNone, false);
  EXPECT_NEAR(eighth.forward_flops, one.forward_flops / 8, 1);
  // Two gathers and two scatters of T h x 2 bytes forward; backward the inputs of both are gathered once more.
  double forward = 0, backward = 0;
  for (const auto& [wire, n] : eighth.forward.wires) forward += n * static_cast<double>(wire.bytes);
  for (const auto& [wire, n] : eighth.backward.wires) backward += n * static_cast<double>(wire.bytes);
  EXPECT_DOUBLE_EQ(forward, 4.0 * 8192 * 4096 * 2);
  EXPECT_DOUBLE_EQ(backward, 6.0 * 8192 * 4096 * 2);
}

/// Korthikanti et al. 2022 (arXiv 2205.05198), table 2: bytes of a GPT block, in s b h.
/// A split width that happens to be a whole one makes no product whole.
TEST(LlmBlock, WidthsDoNotSayWhichProductsOverlapInChunks) {
  ParallelSpec parallel;
  parallel.sequence_parallel = true;
  FrameworkSpec f = fused();
  f.parallel.overlap_tensor = TensorOverlap::ring;
  const auto launches = [&](const LlmSpec& spec) {
    const LlmShape shape{
        .spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f), .tensor = 4};
    const PartWork block = block_work(shape, block_kind(spec, 0), kNone, false);
    return std::array{block.forward.calls, block.forward.kernels, block.backward.calls, block.backward.kernels};
  };
  for (const bool gated : {false, true}) {
    LlmSpec spec = llama();
    spec.gated = gated;
    spec.ffn_hidden = 4 * 4096 + 64;
    const auto expected = launches(spec);
    for (const std::int64_t inner : {2 * 4096, 4 * 4096, 8 * 4096}) {
      spec.ffn_hidden = inner;
      EXPECT_EQ(launches(spec), expected) << inner;
    }
    spec.ffn_hidden = 4 * 4096 + 64;
    spec.kv_heads = 0, spec.head_dim = 4096 * 4 / 3 / 32;  // all queries, keys and values of a rank
    const auto of_heads = launches(spec);
    spec.head_dim = 128, spec.heads = spec.kv_heads = 32;
    EXPECT_EQ(launches(spec), of_heads);
  }
}

TEST(LlmBlock, ActivationsOfKorthikantisTable) {
  LlmSpec gpt;
  gpt.hidden = 6144, gpt.heads = 64, gpt.sequence = 2048, gpt.bias = LlmBias::all, gpt.dropout = true;
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8;
  const auto kept = [&](std::int64_t tensor, bool sequence_parallel, RecomputeKind recompute) {
    ParallelSpec parallel;
    parallel.tensor = tensor;
    parallel.sequence_parallel = sequence_parallel;
    FrameworkSpec f = fused();
    f.kernels.attention = AttentionKernels::fused_softmax;
    const LlmShape shape{.spec = gpt,
                         .parallel = parallel,
                         .framework = f,
                         .numerics = numerics_of(Precision::fp16, f),
                         .tensor = tensor,
                         .samples = 4};
    return block_work(shape, block_kind(gpt, 0), {recompute, 0, {}}, false).kept / (s * b * h);
  };
  const double scores = 5 * a * s / h;
  EXPECT_NEAR(kept(1, false, RecomputeKind::none), 34 + scores, 1e-9);
  EXPECT_NEAR(kept(8, false, RecomputeKind::none), 10 + 24 / t + scores / t, 1e-9);
  EXPECT_NEAR(kept(8, true, RecomputeKind::none), 34 / t + scores / t, 1e-9);
  EXPECT_NEAR(kept(8, false, RecomputeKind::core_attention), 10 + 24 / t, 1e-9);
  EXPECT_NEAR(kept(8, true, RecomputeKind::core_attention), 34 / t, 1e-9);
  EXPECT_NEAR(kept(8, false, RecomputeKind::full), 2, 1e-9);
}

TEST(LlmBlock, FullRecomputationRunsTheForwardPassAgain) {
  const LlmSpec spec = llama();
  const ParallelSpec parallel;
  const FrameworkSpec f = fused();
  const LlmShape shape{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  const PartWork kept = block_work(shape, block_kind(spec, 0), kNone, false);
  const PartWork again = block_work(shape, block_kind(spec, 0), {RecomputeKind::full, 0, {}}, false);
  EXPECT_DOUBLE_EQ(again.backward.matrix_flops(), kept.backward.matrix_flops() + kept.forward.matrix_flops());
  EXPECT_DOUBLE_EQ(again.forward_flops, kept.forward_flops) << "useful work does not grow";
  EXPECT_DOUBLE_EQ(again.repeated_flops, kept.forward.matrix_flops());
  EXPECT_EQ(kept.repeated_flops, 0);
}

TEST(LlmBlock, ExpertsSeeTheirShareOfTheTokens) {
  LlmSpec spec = llama();
  spec.experts = 8, spec.top_k = 2;
  ParallelSpec parallel;
  parallel.expert = 4;
  const FrameworkSpec f = fused();
  const LlmShape shape{
      .spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f), .expert = 4};
  const PartWork block = block_work(shape, block_kind(spec, 0), kNone, false);
  double rows = 0;
  for (const auto& [op, n] : block.forward.ops) {
    const auto* g = std::get_if<graph::Gemm>(&op);
    if (g != nullptr && g->grouped && g->n == 4096) rows += n * static_cast<double>(g->batch * g->m);
  }
  EXPECT_DOUBLE_EQ(rows, 2.0 * 8192) << "top_k rows a token, on 2 experts of this rank";
  EXPECT_DOUBLE_EQ(block.expert, 2 * 3.0 * 4096 * 14336);
  double exchanged = 0;
  for (const auto& [wire, n] : block.forward.wires)
    exchanged += wire.axis == Axis::expert ? n * static_cast<double>(wire.bytes) : 0;
  EXPECT_DOUBLE_EQ(exchanged, 2 * 2.0 * 8192 * 4096 * 2) << "there and back";
}

/// Of the rank's experts.
double expert_rows(const PartWork& block) {
  double rows = 0;
  for (const auto& [op, n] : block.forward.ops) {
    const auto* g = std::get_if<graph::Gemm>(&op);
    if (g != nullptr && g->grouped && g->n == 4096) rows += n * static_cast<double>(g->batch * g->m);
  }
  return rows;
}

TEST(LlmBlock, ExpertsOfADecoderSeeItsTokens) {
  LlmSpec spec = llama();
  spec.experts = 8, spec.top_k = 2, spec.decoder_layers = 16, spec.decoder_sequence = 1024;
  spec.shared_expert_ffn_hidden = 512;
  const FrameworkSpec f = fused();
  for (const std::int64_t tensor : {1, 2}) {  // of 2: experts are not split, and tokens are taken and given back
    ParallelSpec parallel;
    parallel.tensor = tensor;
    LlmShape shape{.spec = spec,
                   .parallel = parallel,
                   .framework = f,
                   .numerics = numerics_of(Precision::bf16, f),
                   .tensor = tensor};
    const PartWork decoder = block_work(shape, {Sublayer::experts}, kNone, true);
    const PartWork encoder = block_work(shape, {Sublayer::experts}, kNone, false);
    EXPECT_DOUBLE_EQ(expert_rows(encoder), 2.0 * 8192 / double(tensor));
    EXPECT_DOUBLE_EQ(8 * expert_rows(decoder), expert_rows(encoder));
    EXPECT_DOUBLE_EQ(8 * decoder.forward_flops, encoder.forward_flops);
    EXPECT_DOUBLE_EQ(8 * bytes_of(decoder.forward), bytes_of(encoder.forward));
    EXPECT_EQ(decoder.expert, encoder.expert);
    ASSERT_EQ(decoder.forward.wires.size(), encoder.forward.wires.size());
    for (std::size_t i = 0; i < decoder.forward.wires.size(); ++i)
      EXPECT_EQ(8 * decoder.forward.wires[i].first.bytes, encoder.forward.wires[i].first.bytes);
  }
}

TEST(LlmBlock, AnExpertsCapacityIsAWholeNumberOfTokens) {
  LlmSpec spec = llama();
  spec.experts = 8, spec.top_k = 1, spec.router = LlmRouter::capacity;
  const ParallelSpec parallel;
  const FrameworkSpec f = fused();
  const auto rows_with = [&](std::int64_t tokens, double capacity) {
    spec.sequence = tokens, spec.capacity = capacity;
    const LlmShape shape{
        .spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
    return expert_rows(block_work(shape, {Sublayer::experts}, kNone, false));
  };
  EXPECT_EQ(rows_with(80, 1), 80);
  EXPECT_EQ(rows_with(81, 1), 88) << "11 for each of 8";
  EXPECT_EQ(rows_with(80, 1.25), 8 * 13) << "12.5 of each";
  EXPECT_EQ(rows_with(1, 1), 8) << "padded to one of each";
}

/// Time that a pass waits for the host.
double waits_of(const PassWork& pass) {
  double seconds = 0;
  for (const auto& [op, n] : pass.ops) {
    if (const auto* wait = std::get_if<graph::HostWork>(&op)) seconds += n * wait->duration.seconds();
  }
  return seconds;
}

/// Once in each pass where tokens are counted on the host: not with a capacity, in one CUDA graph, or in a plain block.
TEST(LlmBlock, TheHostIsWaitedForWhereItCountsTokens) {
  LlmSpec spec = llama();
  spec.experts = 8, spec.top_k = 2, spec.dense_layers = 1;
  const ParallelSpec parallel;
  FrameworkSpec f = fused();
  f.parallel.expert_host_wait = Duration::milliseconds(1);
  const LlmShape shape{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  const auto waits = [&](std::int64_t layer) {
    const PartWork block = block_work(shape, block_kind(spec, layer), kNone, false);
    return std::pair(waits_of(block.forward), waits_of(block.backward));
  };
  EXPECT_EQ(waits(1), std::pair(1e-3, 1e-3));
  EXPECT_EQ(waits(0), std::pair(0.0, 0.0));
  spec.router = LlmRouter::capacity;
  EXPECT_EQ(waits(1), std::pair(0.0, 0.0));
  spec.router = LlmRouter::token;
  f.host.cuda_graph = true;
  EXPECT_EQ(waits(1), std::pair(0.0, 0.0));
}

/// Elements that kernels of their own bring to 8 bits in the forward pass.
double cast_elements(const FrameworkSpec& f, Precision precision) {
  const LlmSpec spec = llama();
  const ParallelSpec parallel;
  const LlmShape shape{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(precision, f)};
  const LlmShape wide{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  const auto elements = [&](const LlmShape& s) {
    double sum = 0;
    for (const auto& [op, n] : block_work(s, block_kind(spec, 0), kNone, false).forward.ops) {
      if (const auto* e = std::get_if<graph::Elementwise>(&op)) sum += n * static_cast<double>(e->elements);
    }
    return sum;
  };
  return elements(shape) - elements(wide);
}

/// Inputs of a Llama block's products: two norms' results, which the norms write in 8 bits; the attention's; and the
/// activation's, which only a compiler merges.
TEST(LlmBlock, InputsAreCastWhereTheKernelBeforeDoesNot) {
  FrameworkSpec f = fused();
  f.parallel.fp8_parameters = true;
  const double t = 8192;
  EXPECT_DOUBLE_EQ(cast_elements(f, Precision::fp8), t * (4096 + 14336));
  EXPECT_DOUBLE_EQ(cast_elements(f, Precision::fp8_current), t * (3 * 4096 + 14336)) << "its maximum comes first";
  f.kernels.compiled = true;
  EXPECT_DOUBLE_EQ(cast_elements(f, Precision::fp8), t * 4096);
}

double sent_to_experts(const LlmShape& shape) {
  const PartWork block = block_work(shape, block_kind(shape.spec, 0), kNone, false);
  double bytes = 0;
  for (const auto& [wire, n] : block.forward.wires)
    bytes += wire.axis == Axis::expert ? n * static_cast<double>(wire.bytes) : 0;
  return bytes;
}

/// 8 experts of a token on 4 domains: 8 x 3/4 = 6 copies leave the domain, or 3 (1 - (3/4)^8) = 2.70 with one for each
/// domain that has any; 0.45 of them. With one domain all is as without.
TEST(LlmBlock, DeepEpSendsATokenToADomainOnce) {
  LlmSpec spec = llama();
  spec.experts = 64, spec.top_k = 8;
  ParallelSpec parallel;
  parallel.expert = 32;
  FrameworkSpec f = fused();
  LlmShape shape{
      .spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f), .expert = 32};
  const double copies = sent_to_experts(shape);
  for (const std::int64_t domains : {1, 2, 4, 32}) {
    shape.expert_domains = domains;
    f.parallel.expert_dispatch = ExpertDispatch::all_to_all;
    EXPECT_EQ(sent_to_experts(shape), copies) << domains;
    f.parallel.expert_dispatch = ExpertDispatch::deepep;
    EXPECT_LE(sent_to_experts(shape), copies) << domains;
  }
  shape.expert_domains = 1;
  EXPECT_EQ(sent_to_experts(shape), copies);
  shape.expert_domains = 4;
  EXPECT_NEAR(sent_to_experts(shape) / copies, 3 * (1 - std::pow(0.75, 8)) / 6, 1e-6);
}

double adapter_weights(const LlmShape& shape) {
  const PartWork block = block_work(shape, block_kind(shape.spec, 0), kNone, false);
  return block.trained();
}

/// Adapters of rank 16 on Llama 2's block: queries, keys and values 16 (4096 + 3 x 4096); the projection 16 (4096 + 4096);
/// gate and up 16 (4096 + 2 x 11008), down 16 (11008 + 4096).
TEST(LlmBlock, AdaptersGoWhereTheFrameworkPutsThem) {
  LlmSpec spec = llama();
  spec.hidden = 4096, spec.heads = 32, spec.kv_heads = 0, spec.ffn_hidden = 11008, spec.gated = true;
  spec.training = LlmTraining::lora, spec.lora_rank = 16;
  const ParallelSpec parallel;
  FrameworkSpec f = fused();
  const LlmShape shape{.spec = spec, .parallel = parallel, .framework = f, .numerics = numerics_of(Precision::bf16, f)};
  const double qkv = 16 * 4.0 * 4096, projection = 16 * 2.0 * 4096, mlp = 16 * (2.0 * 4096 + 3.0 * 11008);
  f.parallel.lora_targets = LoraTargets::qkv;
  EXPECT_DOUBLE_EQ(adapter_weights(shape), qkv);
  f.parallel.lora_targets = LoraTargets::attention;
  EXPECT_DOUBLE_EQ(adapter_weights(shape), qkv + projection);
  f.parallel.lora_targets = LoraTargets::all;
  EXPECT_DOUBLE_EQ(adapter_weights(shape), qkv + projection + mlp);
  spec.lora_targets = LoraTargets::qkv;
  EXPECT_DOUBLE_EQ(adapter_weights(shape), qkv) << "the model's word is the last";
}

/// Billions of weights as published (model cards and papers), and what the architecture makes.
TEST(LlmParameters, AreThePublishedOnes) {
  const std::vector<std::pair<const char*, double>> published{{"llama2_7b", 6.738},
                                                              {"llama2_13b", 13.016},
                                                              {"llama2_70b", 68.977},
                                                              {"llama3_8b", 8.030},
                                                              {"llama3_70b", 70.554},
                                                              {"llama31_405b", 405.85},
                                                              {"mixtral_8x7b", 46.703},
                                                              {"qwen25_7b", 7.616},
                                                              {"qwen25_32b", 32.764},
                                                              {"qwen3_30b_a3b", 30.53},
                                                              {"qwen3_235b_a22b", 235.09},
                                                              {"deepseek_v3_nomtp", 671.03},
                                                              {"kimi_k2", 1026.4},
                                                              {"gpt_oss_20b", 20.91},
                                                              {"gpt_oss_120b", 116.83},
                                                              {"nemotron4_15b", 15.6},
                                                              {"nemotron4_340b", 341.0},
                                                              {"mpt_7b", 6.659},
                                                              {"mpt_30b", 29.975},
                                                              {"mpt_70b", 64.862},
                                                              {"gpt3_175b", 174.6},
                                                              {"mt_nlg_530b", 529.6},
                                                              {"nemotron3_nano_30b_a3b", 31.6},
                                                              {"t5_v11_large", 0.783},
                                                              {"mixtral_8x22b", 140.62},
                                                              {"mistral_7b", 7.242},
                                                              {"deepseek_v2", 235.74},
                                                              {"qwen3_8b", 8.191},
                                                              {"qwen3_32b", 32.762},
                                                              {"llama4_maverick_400b", 400.7},
                                                              {"gpt2_24x1024", 0.355},
                                                              {"internlm_20b", 20.1}};
  for (const auto& [name, billions] : published) {
    const ModelSpec m = shipped_model(name);
    EXPECT_NEAR(parameters_of(m.as<LlmSpec>()).all / 1e9, billions, 0.005 * billions) << name;
  }
}

TEST(LlmParameters, OfATokenAreThePublishedOnes) {
  for (const auto& [name, billions] : std::vector<std::pair<const char*, double>>{
           {"mixtral_8x7b", 12.88}, {"deepseek_v3_nomtp", 37.55}, {"qwen3_235b_a22b", 22.19}, {"kimi_k2", 32.86}}) {
    EXPECT_NEAR(parameters_of(shipped_model(name).as<LlmSpec>()).active / 1e9, billions, 0.005 * billions) << name;
  }
}

}  // namespace
}  // namespace distsim::workload
