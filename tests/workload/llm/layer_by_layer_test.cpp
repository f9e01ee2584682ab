// Language models that are played layer by layer: their layers, when they are played so, and what they were before.
#include "sim/workload/llm/layer_by_layer/layer_by_layer.hpp"

#include <gtest/gtest.h>

#include "../shipped_models.hpp"
#include "llm_fixtures.hpp"
#include "sim/workload/llm/layer_by_layer/llm_layers.hpp"

namespace distsim::workload {
namespace {

const FrameworkSpec kPlain;
const LayerContext kPlainContext{{}, &kPlain};
constexpr ClusterShape kNode{1, 8, Bytes(80'000'000'000)};
constexpr ClusterShape kGpu{1, 1, Bytes(80'000'000'000)};

LlmSpec sizes(bool encoder, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t sequence,
              std::int64_t vocabulary) {
  LlmSpec s;
  s.encoder = encoder;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = heads;
  s.sequence = sequence;
  s.vocabulary = vocabulary;
  s.bias = LlmBias::all;
  s.tied_embeddings = true;
  s.dropout = true;
  return s;
}

std::int64_t parameters(const LlmSpec& spec) { return parameters_of(llm_layers(spec, 1, kPlainContext)); }

TEST(LlmLayers, BertHasItsPublishedParameters) {
  // BertForPreTraining: BertModel (109,482,240 and 335,141,888) and its heads, h^2 + h + 2h + V + 2h + 2 with the
  // decoder tied: base 589,824 + 768 + 1,536 + 30,522 + 1,538 = 624,188; large 1,048,576 + 1,024 + 2,048 + 30,522 +
  // 2,050 = 1,084,220.
  EXPECT_EQ(parameters(sizes(true, 12, 768, 12, 128, 30522)), 109'482'240 + 624'188);
  EXPECT_EQ(parameters(sizes(true, 24, 1024, 16, 512, 30522)), 335'141'888 + 1'084'220);
}

TEST(LlmLayers, Gpt2HasItsPublishedParameters) {
  EXPECT_EQ(parameters(sizes(false, 12, 768, 12, 1024, 50257)), 124'439'808);
  EXPECT_EQ(parameters(sizes(false, 36, 1280, 20, 1024, 50257)), 774'030'080);
  EXPECT_EQ(parameters(sizes(false, 48, 1600, 25, 1024, 50257)), 1'557'611'200);
}

/// The shipped files say what the published models are, and blocks have what layers have.
TEST(LlmLayers, ShippedModelsHaveTheirPublishedParameters) {
  const std::map<std::string, double> published{{"bert_base_seq128", 110.1e6},  {"bert_large_seq128", 336.2e6},
                                                {"bert_large_seq512", 336.2e6}, {"gpt2_small", 124.44e6},
                                                {"gpt2_large", 774.03e6},       {"gpt2_xl", 1557.61e6}};
  for (const auto& [name, count] : published) {
    const ModelSpec m = shipped_model(name);
    const double layers = static_cast<double>(parameters(m.as<LlmSpec>()));
    EXPECT_NEAR(layers, count, 0.005 * count) << name;
    EXPECT_NEAR(parameters_of(m.as<LlmSpec>()).all, layers, 0.0005 * layers) << name;
  }
}

TEST(LlmLayers, OperationsFollowTheFormula) {
  // Forward, t tokens: blocks 2 t (12 h^2), attention 4 t s h / 2 (causal), head 2 t V h.
  const double h = 768, s = 1024, layers = 12, vocabulary = 50257, samples = 3, t = samples * s;
  const double expected = layers * (2 * t * 12 * h * h + 2 * t * s * h) + 2 * t * vocabulary * h;
  EXPECT_DOUBLE_EQ(forward_matrix_flops(llm_layers(sizes(false, 12, 768, 12, 1024, 50257), 3, kPlainContext)),
                   expected);
}

TEST(LlmLayers, BackwardHasTwoProductsForEachForwardOne) {
  double forward = 0, backward = 0;
  for (const Layer& layer : llm_layers(sizes(true, 2, 64, 4, 16, 100), 2, kPlainContext)) {
    forward += matrix_flops(layer.forward);
    backward += matrix_flops(layer.backward);
  }
  EXPECT_DOUBLE_EQ(backward, 2 * forward);
}

TEST(LlmLayers, RecomputationIsOfTheFirstBlocks) {
  std::map<int, int> blocks;
  for (const Layer& layer : llm_layers(sizes(false, 4, 64, 4, 16, 100), 2, kPlainContext, 3)) ++blocks[layer.block];
  EXPECT_EQ(blocks.size(), 4u);  // three, and layers of none
  EXPECT_EQ(blocks.count(3), 0u);
}

FrameworkSpec eager(std::int64_t sequence_bin = 0) {
  FrameworkSpec f;
  f.parallel.layer_by_layer = true;
  f.input.sequence_bin = sequence_bin;
  return f;
}

ModelSpec bert_512() {
  ModelSpec m;
  m.family = find_family("llm");
  m.per_gpu_batch = 2;
  m.as<LlmSpec>() = sizes(true, 1, 1024, 16, 512, 30522);
  m.as<LlmSpec>().mean_tokens = 256;
  return m;
}

Workload built(const ModelSpec& m, const FrameworkSpec& f, const ClusterShape& shape = kNode) {
  auto w = build_workload(m, f, shape);
  CHECK(w.ok()) << w.error().text();
  return *std::move(w);
}

std::string refused(const ModelSpec& m, const FrameworkSpec& f, const ClusterShape& shape = kNode) {
  const auto w = build_workload(m, f, shape);
  return w.ok() ? "" : w.error().text();
}

std::int64_t rows_of_first_product(const Workload& w) {
  for (const graph::Op& op : w.graph.ops) {
    if (const auto* g = std::get_if<graph::Gemm>(&op)) return g->m;
  }
  return 0;
}

bool has_task(const Workload& w, const std::string& name) {
  for (TaskId t(0); t < w.graph.tasks.end_id(); t = TaskId(t.value() + 1)) {
    if (w.graph.names[w.graph.tasks[t].name] == name) return true;
  }
  return false;
}

bool goes_layer_by_layer(const Workload& w) { return has_task(w, "block0.projection"); }

TEST(LayerByLayer, BinnedBatchesArePaddedByHalfABin) {
  const Workload padded = built(bert_512(), eager(), kGpu), binned = built(bert_512(), eager(64), kGpu);
  EXPECT_EQ(rows_of_first_product(padded), 2 * 512);
  EXPECT_EQ(rows_of_first_product(binned), 2 * (256 + 32));
  EXPECT_EQ(padded.dense_parameters, binned.dense_parameters);  // positions keep their 512 rows
}

/// An encoder's samples are padded whichever way it is played.
TEST(LayerByLayer, BlocksSeeTheSamePadding) {
  ModelSpec m = bert_512();
  m.parallel.tensor = 2;
  EXPECT_EQ(rows_of_first_product(built(m, eager())), 4 * 512);  // of two GPUs
  EXPECT_EQ(rows_of_first_product(built(m, eager(64))), 4 * (256 + 32));
  m.as<LlmSpec>().predictions = 300;
  EXPECT_NE(refused(m, eager(64)).find("model.llm.predictions: found 300"), std::string::npos);
  m.parallel.tensor = 1;
  EXPECT_NE(refused(m, eager(64)).find("model.llm.predictions: found 300"), std::string::npos);
}

bool says(const Workload& w, const std::string& text) {
  return std::ranges::any_of(w.assumptions,
                             [&](const graph::Assumption& a) { return a.text.find(text) != std::string::npos; });
}

TEST(LayerByLayer, MeanTokensAboveTheSequenceAreSaid) {
  ModelSpec m = bert_512();
  m.as<LlmSpec>().mean_tokens = 600;
  for (const bool encoder : {true, false}) {
    m.as<LlmSpec>().encoder = encoder;
    for (const std::int64_t tensor : {1, 2}) {
      m.parallel.tensor = tensor;
      const Workload w = built(m, eager(64));
      EXPECT_EQ(rows_of_first_product(w), tensor * 2 * 512);
      EXPECT_TRUE(
          says(w, std::string("model.llm.mean_tokens of 600 is above the sequence of 512: samples are taken as ") +
                      (encoder ? "full" : "one document each")));
    }
  }
}

/// One document is what a sample is without the key; several are played otherwise, which is said.
TEST(LayerByLayer, PackedDocumentsArePlayedByBlocksAndThatIsSaid) {
  ModelSpec m = bert_512();
  m.as<LlmSpec>().encoder = false;
  for (const LlmClass type : {LlmClass::none, LlmClass::gpt2}) {
    m.as<LlmSpec>().model_type = type;
    for (const std::int64_t mean : {0, 512, 600, 511, 256}) {
      m.as<LlmSpec>().mean_tokens = mean;
      const Workload w = built(m, eager());
      const bool packed = mean == 511 || mean == 256;
      EXPECT_EQ(has_task(w, "block0.projection"), !packed) << mean;
      EXPECT_EQ(says(w, "layer by layer where nothing is split or packed"), packed) << mean;
    }
  }
}

TEST(LayerByLayer, AnUnfusedOptimizerLeavesATensorBetweenCalls) {
  ModelSpec m = bert_512();
  m.optimizer = graph::OptimizerKind::lamb;
  FrameworkSpec f = eager();
  f.kernels.fused_optimizer = false;
  const Workload w = built(m, f, kGpu);
  EXPECT_TRUE(std::ranges::any_of(w.graph.ops, [&](const graph::Op& op) {
    const auto* e = std::get_if<graph::Elementwise>(&op);
    return e != nullptr && e->elements == w.dense_parameters && e->reads == 8 && e->writes == 8;  // nine calls
  }));
}

TEST(LayerByLayer, WhatIsSplitOrCannotBeExpressedIsPlayedByBlocks) {
  const auto plays_layers = [](auto change, FrameworkSpec f = eager()) {
    ModelSpec m = bert_512();
    m.as<LlmSpec>().layers = 2;
    change(m.parallel, m.as<LlmSpec>());
    const bool expected = is_layer_by_layer(m, f, 8);
    EXPECT_EQ(goes_layer_by_layer(built(m, f)), expected);
    return expected;
  };
  using P = ParallelSpec;
  using S = LlmSpec;
  EXPECT_TRUE(plays_layers([](P&, S&) {}));
  EXPECT_TRUE(plays_layers([](P& p, S&) { p.recompute.kind = RecomputeKind::none; }));
  EXPECT_TRUE(plays_layers([](P& p, S&) { p.recompute = {RecomputeKind::full, 1, {}}; }));
  EXPECT_TRUE(plays_layers([](P& p, S&) { p.shard = StateSplit::none, p.offload = Offload::none, p.data = 8; }));
  EXPECT_TRUE(plays_layers([](P& p, S&) { p.stage_layers = {2}, p.schedule = PipelineSchedule::gpipe; }));
  EXPECT_TRUE(plays_layers([](P&, S& s) { s.encoder = false, s.mean_tokens = 0; }));
  EXPECT_TRUE(plays_layers([](P&, S& s) { s.kv_heads = 16, s.head_dim = 64; }));
  EXPECT_FALSE(plays_layers([](P&, S&) {}, kPlain));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.tensor = 2; }));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.context = 2; }));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.pipeline = 2; }));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.shard = StateSplit::optimizer; }));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.offload = Offload::optimizer; }));
  EXPECT_FALSE(plays_layers([](P& p, S&) { p.recompute.kind = RecomputeKind::core_attention; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.gated = true; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.norm = LlmNorm::rms; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.bias = LlmBias::attention; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.positions = LlmPositions::rope; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.tied_embeddings = false; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.kv_heads = 4; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.head_dim = 32; }));
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.encoder = false; }));  // then mean_tokens are those of packed documents
  EXPECT_FALSE(plays_layers([](P&, S& s) { s.training = LlmTraining::lora; }));
  FrameworkSpec sharding = eager();
  sharding.parallel.shard = StateSplit::optimizer;
  EXPECT_FALSE(plays_layers([](P&, S&) {}, sharding));
  EXPECT_TRUE(plays_layers([](P& p, S&) { p.shard = StateSplit::none; }, sharding));
}

/// What is wrong with a layout is said however the job would be played.
TEST(LayerByLayer, LayoutsThatDoNotDivideAreRefused) {
  ModelSpec m = bert_512();
  m.parallel.data = 4;
  EXPECT_NE(refused(m, eager()).find("parallel.data: found 4, expected 8"), std::string::npos);
  m.parallel = {};
  m.parallel.stage_layers = {3};
  EXPECT_NE(refused(m, eager()).find("parallel.stage_layers"), std::string::npos);
  m.parallel = {};
  m.parallel.recompute = {RecomputeKind::full, 2, {}};
  EXPECT_NE(refused(m, eager()).find("parallel.recompute: found 2"), std::string::npos);
  m.parallel = {};
  m.parallel.schedule = PipelineSchedule::zero_bubble;
  EXPECT_NE(refused(m, eager()).find("parallel.schedule"), std::string::npos);
}

TEST(LayerByLayer, AGivenMicroBatchDividesTheShare) {
  ModelSpec m = bert_512();
  m.per_gpu_batch = 12;
  const auto read = [&](const std::string& text) {
    m.parallel = parallel_schema().read(parse_yaml(text, "p.yaml").value(), "parallel").value();
  };
  EXPECT_EQ(rows_of_first_product(built(m, eager())), 12 * 512);
  read("{micro_batch: 3}");
  const Workload steps = built(m, eager());
  EXPECT_EQ(rows_of_first_product(steps), 3 * 512);
  ModelSpec accumulated = m;
  accumulated.parallel = {};
  accumulated.per_gpu_batch = 3, accumulated.accumulation = 4;
  const Workload same = built(accumulated, eager());
  EXPECT_EQ(same.graph.tasks.size(), steps.graph.tasks.size());
  EXPECT_EQ(same.model_flops, steps.model_flops);
  EXPECT_EQ(same.memory.front().total(), steps.memory.front().total());
  EXPECT_EQ(same.assumptions.front().text, steps.assumptions.front().text);
  read("{micro_batch: 5}");
  EXPECT_NE(refused(m, eager()).find("parallel.micro_batch: found 5, expected a divisor"), std::string::npos);
  read("{micro_batch: 1}");
  EXPECT_EQ(rows_of_first_product(built(m, eager())), 512);
}

TEST(LayerByLayer, OverlapOfGradientsIsHeeded) {
  ModelSpec m = bert_512();
  m.parallel.overlap_gradients = Switch::off;
  FrameworkSpec without = eager();
  without.gradients.overlap = false;
  const auto edges = [](const Workload& w) { return w.graph.tasks.size(); };
  EXPECT_TRUE(is_layer_by_layer(m, eager(), 8));
  EXPECT_EQ(edges(built(m, eager())), edges(built(bert_512(), without)));
}

/// What does not fit is refused with what would; all that is proposed does.
TEST(LayerByLayer, SaysWhatFits) {
  ModelSpec m = shipped_model("bert_large_seq512");
  m.per_gpu_batch = 256;
  const auto w = build_workload(m, eager(), kNode);
  ASSERT_FALSE(w.ok());
  EXPECT_EQ(w.error().hint.find("it fits with --set parallel."), 0u) << w.error().hint;
  EXPECT_NE(w.error().hint.find("parallel.recompute=full"), std::string::npos) << w.error().hint;
  m.parallel.recompute = {RecomputeKind::full, 0, {}};
  EXPECT_TRUE(build_workload(m, eager(), kNode).ok());
}

TEST(LayerByLayer, NeedsAreThoseOfTheWorkload) {
  for (const char* name : {"bert_large_seq512", "gpt2_xl"}) {
    ModelSpec m = shipped_model(name);
    m.as<LlmSpec>().mean_tokens = 0;  // kernels compute padding
    const Workload w = built(m, shipped_framework("pytorch"));
    const RankNeeds needs = needs_of(m, shipped_framework("pytorch"), kNode).value();
    ASSERT_EQ(needs.memory.size(), 1u);
    EXPECT_EQ(needs.memory.front().total(), w.memory.front().total()) << name;
    EXPECT_EQ(needs.memory.front().activations, w.memory.front().activations) << name;
    // With recomputation a fourth pass.
    const double passes = m.parallel.recompute.kind == RecomputeKind::full ? 4.0 / 3 : 1;
    EXPECT_NEAR(needs.flops * 8, w.model_flops * passes, 0.03 * w.model_flops) << name;
  }
}

/// Jobs as they were when kind: transformer played them, on eight GPUs: tasks, calls and kernels of the host, and of a GPU
/// memory, bytes all-reduced and operations of the model (since 2026 without padding and masked scores). What kernels cost does not matter here.
struct Job {
  const char *model, *framework;
  std::int64_t per_gpu_batch, accumulation;
  Precision precision;
  std::size_t tasks;
  std::int64_t calls, kernels, memory, reduced;
  double flops;
};
constexpr Job kJobs[] = {
    {"bert_large_seq128", "pytorch", 64, 1, Precision::fp16, 1565, 3268, 3079, 16447661864, 1344904432, 15401135898624},
    {"bert_large_seq512", "pytorch", 16, 2, Precision::fp16, 3249, 6452, 5701, 13976397608, 1344904432, 15958259662848},
    {"bert_large_seq512", "tf1_horovod", 16, 1, Precision::fp32, 1488, 4968, 6158, 34726975664, 1344904432,
     7979129831424},
    {"bert_large_seq128", "tf2", 32, 3, Precision::tf32, 4150, 7032, 10161, 15290225840, 1344904432, 23101703847936},
    {"bert_base_seq128", "mxnet_horovod", 64, 1, Precision::fp16, 639, 666, 1214, 5487110712, 220212856, 4475455340544},
    {"bert_base_seq128", "pytorch_apex", 32, 1, Precision::fp16, 635, 1346, 1277, 3734513208, 220212856, 2237727670272},
    {"bert_base_seq128", "paddle", 32, 1, Precision::fp32, 511, 538, 1150, 5475046576, 440425712, 2237727670272},
    {"gpt2_small", "pytorch", 8, 1, Precision::bf16, 596, 1395, 1199, 13022666240, 497759232, 6535702904832},
    {"gpt2_large", "tf2", 1, 4, Precision::fp16, 7427, 10407, 14865, 19524142592, 1548060160, 20135207239680},
    {"gpt2_xl", "pytorch", 4, 1, Precision::fp16, 3526, 8094, 6334, 36499881088, 6230444800, 40147707494400},
    {"gpt_h1024_l16_a16_s1024", "megatron", 4, 2, Precision::fp16, 1699, 4304, 2458, 6031347712, 508203008,
     13252121591808},
    {"gpt_h2048_l24_a32_s512", "megatron", 4, 1, Precision::fp8, 1193, 3216, 1830, 24572895232, 2625347584,
     16418586230784},
};

Job measured(Job job) {
  ModelSpec m = shipped_model(job.model);
  m.per_gpu_batch = job.per_gpu_batch;
  m.accumulation = job.accumulation;
  m.precision = job.precision;
  m.as<LlmSpec>().model_type = LlmClass::none;  // which there was not
  const Workload w = built(m, shipped_framework(job.framework));
  job.tasks = w.graph.tasks.size();
  job.calls = job.kernels = job.reduced = 0;
  for (const graph::Task& task : w.graph.tasks) {
    job.calls += task.dispatch.framework_ops;
    job.kernels += task.dispatch.kernels;
    const auto* c = std::get_if<graph::Collective>(&w.graph.ops[task.first_op]);
    job.reduced += c != nullptr ? c->bytes * c->times : 0;
  }
  job.memory = w.memory.front().total();
  job.flops = w.model_flops / 8;
  return job;
}

TEST(LayerByLayer, JobsAreWhatTheyWere) {
  for (const Job& job : kJobs) {
    const Job now = measured(job);
    EXPECT_EQ(now.tasks, job.tasks) << job.model << " " << job.framework;
    EXPECT_EQ(now.calls, job.calls) << job.model << " " << job.framework;
    EXPECT_EQ(now.kernels, job.kernels) << job.model << " " << job.framework;
    EXPECT_EQ(now.memory, job.memory) << job.model << " " << job.framework;
    EXPECT_EQ(now.reduced, job.reduced) << job.model << " " << job.framework;
    EXPECT_NEAR(now.flops, job.flops, 1e-12 * job.flops) << job.model << " " << job.framework;
  }
}

/// Split over two GPUs each does half of the blocks, and together they do what one did.
TEST(LayerByLayer, BertSplitByTensorsDoesTheSameWork) {
  ModelSpec m = shipped_model("bert_large_seq128");
  const FrameworkSpec f = shipped_framework("pytorch");
  const Workload whole = built(m, f);
  m.parallel.tensor = 2;
  const Workload split = built(m, f);
  EXPECT_TRUE(goes_layer_by_layer(whole));
  EXPECT_FALSE(goes_layer_by_layer(split));
  EXPECT_EQ(split.samples, whole.samples);
  EXPECT_NEAR(split.model_flops, whole.model_flops, 1e-12 * whole.model_flops);
  EXPECT_NEAR(static_cast<double>(split.dense_parameters), static_cast<double>(whole.dense_parameters), 1e-4 * 336e6);
  EXPECT_LT(split.memory.front().weights, 0.55 * static_cast<double>(whole.memory.front().weights));
  // Four all-reduces of a block and two of the ends, of samples of 128 tokens of 1024 x 2 bytes.
  const double tensor = 128.0 * 1024 * 2, samples = 512.0 / 4;
  const auto bytes = bytes_of_first_rank(split);
  const double found = static_cast<double>(bytes.at("tensor.all_reduce"));
  EXPECT_NEAR(found, samples * (24 * 4 + 2) * tensor, 0.02 * found);
}

/// What a model states of its micro-steps holds however it is played, but for a pipeline.
TEST(LayerByLayer, ModelsKeepTheirMicroSteps) {
  const auto batch_of = [](auto change) {
    ModelSpec m = shipped_model("bert_large_seq128");
    change(m);
    return built(m, shipped_framework("pytorch")).assumptions.front().text;
  };
  EXPECT_EQ(batch_of([](ModelSpec&) {}), "batch 512 over 8 ranks: 64 each");
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.parallel.tensor = 2; }),
            "batch 512: 4 replicas run 1 micro-step of 128 samples");
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.parallel.tensor = 2, m.accumulation = 3; }),
            "batch 1536: 4 replicas run 3 micro-steps of 128 samples");
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.parallel.tensor = 2, m.per_gpu_batch = 0, m.global_batch = 16; }),
            "batch 16: 4 replicas run 4 micro-steps of 1 sample");
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.as<LlmSpec>().tied_embeddings = false; }),
            "batch 512: 8 replicas run 1 micro-step of 64 samples")
      << "of another architecture";
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.parallel.shard = StateSplit::weights; }),
            "batch 512: 8 replicas run 1 micro-step of 64 samples");
  EXPECT_EQ(batch_of([](ModelSpec& m) { m.parallel.pipeline = 2; }),
            "batch 512: 4 replicas run 128 micro-steps of 1 sample");
  EXPECT_EQ(batch_of([](ModelSpec& m) {
              m.parallel.tensor = 2, m.parallel.micro_batch = 1, m.parallel.states_micro_batch = true;
            }),
            "batch 512: 4 replicas run 128 micro-steps of 1 sample");
}

/// Of a GPU of eight that split BERT-large by two, with so many predictions a sample.
TEST(LayerByLayer, PredictionsChangeTheHeadAlone) {
  const auto split = [](std::int64_t predictions) {
    ModelSpec m = shipped_model("bert_large_seq128");
    m.as<LlmSpec>().predictions = predictions;
    m.parallel.tensor = 2;
    return built(m, shipped_framework("pytorch"));
  };
  const Workload all = split(0), masked = split(20);
  EXPECT_EQ(all.dense_parameters, masked.dense_parameters);
  // 3 passes of 512 samples: transform h x h, which both GPUs of two do but which is the model's work once, and decoder
  // h x V, of 108 tokens fewer.
  const double h = 1024, v = 30522;
  EXPECT_NEAR(all.model_flops - masked.model_flops, 3.0 * 512 * 108 * 2 * (h * h + h * v), 1e-6 * all.model_flops);
  EXPECT_LT(masked.memory.front().activations, all.memory.front().activations);
  // Of all predictions there are as many as tokens.
  EXPECT_EQ(split(128).model_flops, all.model_flops);
  EXPECT_EQ(split(128).memory.front().total(), all.memory.front().total());
}

}  // namespace
}  // namespace distsim::workload
