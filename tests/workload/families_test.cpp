// Transformer-XL, SSD, NeuMF and recurrent models: parameter counts and shapes worked out by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/workload/models/ncf.hpp"
#include "sim/workload/models/rnn.hpp"
#include "sim/workload/models/ssd.hpp"
#include "sim/workload/models/tgn.hpp"
#include "sim/workload/models/transformer_xl.hpp"
#include "sim/workload/registry.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::workload {
namespace {

const FrameworkSpec kFramework;
const LayerContext kContext{{}, &kFramework};

const LayerOp* op_named(const std::vector<Layer>& layers, const std::string& name) {
  for (const Layer& layer : layers) {
    for (const auto* ops : {&layer.forward, &layer.backward}) {
      for (const LayerOp& op : *ops) {
        if (op.name == name) return &op;
      }
    }
  }
  return nullptr;
}

// LSTM layers of 4 x 1024 x (input + 1024 + 2): encoder 2 directions of 1024, then 2048, 1024, 1024; decoder 1024, then
// 2048 three times; attention 2 x 1024^2 + 1024; one embedding and one classifier of 32320 words.
TEST(Rnn, GnmtHasTheParametersOfTheFormula) {
  const std::int64_t narrow = 4096 * 2050LL, wide = 4096 * 3074LL, words = 32320 * 1024LL;
  const std::int64_t expected = 5 * narrow + 4 * wide + 2 * 1048576 + 1024 + 2 * words + 32320;
  EXPECT_EQ(parameters_of(rnn_layers({}, 2, kContext)), expected);
  RnnSpec apart;
  apart.shared_embedding = false;
  EXPECT_EQ(parameters_of(rnn_layers(apart, 2, kContext)), expected + words);
}

TEST(Rnn, LayersTakeWhatTheOnesBeforeGive) {
  const auto layers = rnn_layers({}, 8, kContext);
  const auto of = [&](const char* name) { return std::get<graph::Recurrent>(op_named(layers, name)->op); };
  EXPECT_EQ(of("encoder0").directions, 2);
  EXPECT_EQ(of("encoder1").input, 2048) << "both directions";
  EXPECT_EQ(of("decoder0").input, 1024);
  EXPECT_EQ(of("decoder1").input, 2048) << "the context comes beside the output";
  EXPECT_EQ(of("decoder3.dgrad").pass, graph::Pass::backward_data);
  EXPECT_EQ(op_named(layers, "encoder1.residual"), nullptr);
  EXPECT_NE(op_named(layers, "encoder2.residual"), nullptr);
}

TEST(Rnn, ALanguageModelHasNoSourceAndNoAttention) {
  RnnSpec s;
  s.encoder_layers = 0;
  s.decoder_layers = 2;
  s.hidden = 1500;
  s.vocabulary = 10'000;
  const auto layers = rnn_layers(s, 20, kContext);
  EXPECT_EQ(parameters_of(layers), 2 * 10'000 * 1500LL + 10'000 + 2 * 6000 * 3002LL);  // Zaremba et al.: 66M
  EXPECT_EQ(op_named(layers, "attention.scores"), nullptr);
  EXPECT_EQ(op_named(layers, "encoder.embedding"), nullptr);
}

// Time encoding 2 x 172. GRU of 3 x 172 rows: 688 inputs, 172 states, two biases. Attention width 344: query and output
// 344 x 344 + 344, key and value 516 x 344 + 344; merge 516 x 172 + 172 and 172 x 172 + 172. Decoder 344 x 172 + 172 and
// 172 + 1.
TEST(Tgn, HasTheParametersOfTheFormula) {
  const std::int64_t cell = 516 * (688 + 172 + 2), attention = 2 * (344 * 345) + 2 * (517 * 344);
  const std::int64_t merge = 517 * 172 + 173 * 172, decoder = 345 * 172 + 173;
  EXPECT_EQ(parameters_of(tgn_layers({}, 200, kContext)), 344 + cell + attention + merge + decoder);
}

TEST(Tgn, LooksUpRootsAndNeighboursOfEveryHop) {
  TgnSpec s;
  s.layers = 2;
  EXPECT_EQ(s.nodes_at(2), 3 * 11 * 11);
  const auto layers = tgn_layers(s, 100, kContext);
  const auto of = [&](const char* name) { return op_named(layers, name)->op; };
  EXPECT_EQ(std::get<graph::EmbeddingBag>(of("memory")).batch, 100 * 363);
  EXPECT_EQ(std::get<graph::Gemm>(of("hop2.key")).m, 100 * 33 * 10) << "the inner hop embeds roots and neighbours";
  EXPECT_EQ(std::get<graph::Gemm>(of("hop1.key")).m, 100 * 3 * 10);
  EXPECT_EQ(std::get<graph::Recurrent>(of("memory_update")).batch, 200);
  EXPECT_EQ(std::get<graph::Attention>(of("hop1.scores")).kv_len, 10);
}

/// Sampling holds the host up or runs beside the iteration; memory on the host comes with the input.
TEST(Tgn, SamplingAndMemoryAreWhereTheModelSays) {
  ModelSpec m;
  m.family = find_family("tgn");
  m.per_gpu_batch = 200;
  m.precision = Precision::fp32;
  const auto task = [&](const char* name) {
    const auto w = build_workload(m, kFramework, {1, 1, Bytes(80'000'000'000)});
    CHECK(w.ok()) << w.error().text();
    for (const graph::Task& t : w->graph.tasks) {
      if (w->graph.names[t.name] == name) return std::pair(t.stream, w->graph.ops[t.first_op]);
    }
    CHECK(false) << name;
    return std::pair(graph::Stream::host, graph::Op());
  };
  EXPECT_EQ(task("sampling").first, graph::Stream::host);
  EXPECT_EQ(std::get<graph::HostWork>(task("sampling").second).duration, Duration::microseconds(2 * 3 * 200));
  const std::int64_t before = std::get<graph::Copy>(task("input.copy").second).bytes;
  m.as<TgnSpec>().overlap_sampling = true;
  m.as<TgnSpec>().memory_on_host = true;
  EXPECT_EQ(task("sampling").first, graph::Stream::loader);
  EXPECT_EQ(std::get<graph::Copy>(task("input.copy").second).bytes - before, 200 * 4 * (33 * 172 + 30 * 172 + 2 * 688));
  m.as<TgnSpec>().sampling_per_node = *Duration::from_seconds(1e-2);
  m.per_gpu_batch = 1'000'000'000;
  EXPECT_FALSE(build_workload(m, kFramework, {1, 1, Bytes(80'000'000'000)}).ok());
}

TransformerXlSpec large() {
  TransformerXlSpec s;
  s.layers = 18;
  s.hidden = 1024;
  s.heads = 16;
  s.ffn_hidden = 4096;
  s.target_length = s.memory_length = 384;
  s.div_value = 4;
  return s;
}

TEST(TransformerXl, BaseHasTheParametersOfTheFormula) {
  // Block: 5 x 512 x 512 + 2 x 512 x 2048 + 2048 + 512 + 4 x 512 = 3 412 480 (1 310 720 + 2 097 152 + 2 560 + 2 048).
  // Biases of positions 2 x 512. Embedding 267735 x 512 = 137 080 320. Softmax biases 267735 + 3 clusters, cluster
  // weights 3 x 512.
  const std::int64_t expected = 16 * 3'412'480LL + 1024 + 137'080'320 + 267'735 + 3 + 3 * 512;
  EXPECT_EQ(parameters_of(transformer_xl_layers({}, 2, kContext)), expected);
  EXPECT_NEAR(static_cast<double>(expected), 192e6, 0.5e6);  // published: 192M
}

TEST(TransformerXl, LargeSharesProjectionsWithItsEmbedding) {
  // Block: 5 x 1024^2 + 2 x 1024 x 4096 + 4096 + 1024 + 4096 = 13 640 704. Embedding 20000 x 1024 + 20000 x 256 +
  // 160000 x 64 + 67735 x 16, projections 1024 (1024 + 256 + 64 + 16).
  const std::int64_t embedding = 20'000 * 1024 + 20'000 * 256 + 160'000 * 64 + 67'735 * 16 + 1024 * 1360;
  const std::int64_t expected = 18 * 13'640'704LL + 2 * 1024 + embedding + 267'735 + 3 + 3 * 1024;
  EXPECT_EQ(parameters_of(transformer_xl_layers(large(), 1, kContext)), expected);
}

TEST(TransformerXl, KeysCoverMemoryAndSegment) {
  const auto layers = transformer_xl_layers({}, 4, kContext);
  const auto& scores = std::get<graph::Attention>(op_named(layers, "block0.scores")->op);
  EXPECT_EQ(scores.q_len, 192);
  EXPECT_EQ(scores.kv_len, 384);
  EXPECT_EQ(std::get<graph::Gemm>(op_named(layers, "block3.qkv")->op).m, 4 * 384);
  const auto& distances = std::get<graph::Gemm>(op_named(layers, "block3.distances")->op);
  EXPECT_EQ(distances.batch, 8);
  EXPECT_EQ(distances.m, 4 * 192);
  EXPECT_EQ(distances.n, 384);
  EXPECT_EQ(std::get<graph::Gemm>(op_named(layers, "softmax.head")->op).n, 20'003);
}

TEST(TransformerXl, TailsShareTheTokensOutsideTheHead) {
  const auto clusters = vocabulary_clusters(large());
  ASSERT_EQ(clusters.size(), 4u);
  double share = 0;
  for (const VocabularyCluster& c : clusters) share += c.share;
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_DOUBLE_EQ(clusters[0].share, 1 - 0.065);
  EXPECT_EQ(clusters[3].words(), 67'735);
  EXPECT_EQ(clusters[3].width, 16);
  // r^-0.8 at 20000, 40000, 200000 and 267735, in units of that at 20000: 1, 0.57435, 0.15849, 0.12550. Second cluster:
  // 0.42565 / 0.87450 of the tail.
  EXPECT_NEAR(clusters[1].share, 0.065 * 0.42565 / 0.87450, 1e-6);
}

TEST(TransformerXl, RefusesCutoffsBeyondTheVocabulary) {
  ModelSpec m;
  m.family = find_family("transformer_xl");
  m.per_gpu_batch = 1;
  m.as<TransformerXlSpec>().cutoffs = {20'000, 300'000};
  const auto w = build_workload(m, kFramework, {1, 1, Bytes(80'000'000'000)});
  ASSERT_FALSE(w.ok());
  EXPECT_NE(w.error().text().find("cutoffs: found 300000"), std::string::npos) << w.error().text();
}

TEST(Ssd, Has8732Anchors) {
  const auto maps = ssd_feature_maps({});
  ASSERT_EQ(maps.size(), 6u);
  const std::int64_t sides[] = {38, 19, 10, 5, 3, 1};
  std::int64_t anchors = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(maps[i].size, sides[i]);
    anchors += maps[i].anchors();
  }
  EXPECT_EQ(anchors, 8732);  // 4 x 1444 + 6 x 361 + 6 x 100 + 6 x 25 + 4 x 9 + 4
}

TEST(Ssd, HasTheParametersOfTheFormula) {
  // torchvision's ResNet-50 without its fourth stage (14 964 736) and classifier (2 049 000).
  const std::int64_t backbone = 25'557'032 - 14'964'736 - 2'049'000;
  // Pairs: in x squeeze + 2 squeeze + 9 squeeze out + 2 out.
  const auto pair = [](std::int64_t in, std::int64_t squeeze, std::int64_t out) {
    return in * squeeze + 2 * squeeze + 9 * squeeze * out + 2 * out;
  };
  const std::int64_t extras =
      pair(1024, 256, 512) + pair(512, 256, 512) + pair(512, 128, 256) + 2 * pair(256, 128, 256);
  // a = 4 x 1024 + 6 x (512 + 512 + 256) + 4 x (256 + 256) = 13824, b = 30: (9 a + b) x 85.
  const std::int64_t heads = (9 * 13'824 + 30) * 85;
  EXPECT_EQ(parameters_of(ssd_layers({}, 1, kContext)), backbone + extras + heads);
}

TEST(Ssd, TheThirdStageKeepsTheImage) {
  const auto layers = ssd_layers({}, 2, kContext);
  const auto& conv = std::get<graph::Conv2d>(op_named(layers, "layer3.0.conv2")->op);
  EXPECT_EQ(conv.h, 38);
  EXPECT_EQ(conv.out_h(), 38);
  EXPECT_EQ(std::get<graph::Conv2d>(op_named(layers, "head0.classes")->op).k, 4 * 81);
  EXPECT_EQ(std::get<graph::Loss>(op_named(layers, "loss.classes")->op).rows, 2 * 8732);
}

TEST(Ncf, HasTheParametersOfTheFormula) {
  // (138493 + 26744) x (64 + 128) + 256 x 256 + 256 + 256 x 128 + 128 + 128 x 64 + 64 + 128 + 1
  EXPECT_EQ(parameters_of(ncf_layers({}, 4, kContext)), 165'237 * 192 + 65'536 + 256 + 32'768 + 128 + 8'192 + 64 + 129);
}

TEST(Ncf, EveryTableIsLookedUpOnceASample) {
  const auto layers = ncf_layers({}, 1000, kContext);
  const auto& lookup = std::get<graph::EmbeddingBag>(op_named(layers, "mlp.users")->op);
  EXPECT_EQ(lookup.batch, 1000);
  EXPECT_EQ(lookup.tables.front().dim, 128);
  EXPECT_EQ(std::get<graph::Elementwise>(op_named(layers, "factors.items.clear")->op).elements, 26'744 * 64);
  EXPECT_EQ(std::get<graph::Gemm>(op_named(layers, "last")->op).k, 128);
}

TEST(Ncf, AllGradientsAreReduced) {
  ModelSpec m;
  m.family = find_family("ncf");
  m.global_batch = 1 << 20;
  m.precision = Precision::fp32;
  const auto w = build_workload(m, kFramework, {1, 8, Bytes(16'000'000'000)});
  ASSERT_TRUE(w.ok()) << w.error().text();
  std::int64_t bytes = 0;
  for (const graph::Op& op : w->graph.ops) {
    const auto* c = std::get_if<graph::Collective>(&op);
    if (c != nullptr && c->kind == graph::CollectiveKind::all_reduce) bytes += c->bytes;
  }
  EXPECT_EQ(bytes, w->dense_parameters * 4);
}

TEST(Resnet, LayoutFollowsTheFramework) {
  FrameworkSpec f;
  f.kernels.convolution_layout = ConvLayout::nchw_in_32_bit;
  const LayerContext single{{}, &f}, half{numerics_of(Precision::fp16, f), &f};
  EXPECT_FALSE(std::get<graph::Conv2d>(op_named(ssd_layers({}, 1, single), "conv1")->op).channels_last);
  EXPECT_TRUE(std::get<graph::Conv2d>(op_named(ssd_layers({}, 1, half), "conv1")->op).channels_last);
}

}  // namespace
}  // namespace distsim::workload
