// Transformer-XL, SSD and NeuMF: parameter counts and shapes worked out by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/workload/models/ncf.hpp"
#include "sim/workload/models/ssd.hpp"
#include "sim/workload/models/transformer.hpp"
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

ModelSpec bert_512() {
  ModelSpec m;
  m.family = find_family("transformer");
  m.per_gpu_batch = 2;
  m.as<TransformerSpec>().layers = 1;
  m.as<TransformerSpec>().mean_tokens = 256;
  return m;
}

std::int64_t rows_of_first_product(const Workload& w) {
  for (const graph::Op& op : w.graph.ops) {
    if (const auto* g = std::get_if<graph::Gemm>(&op)) return g->m;
  }
  return 0;
}

TEST(Transformer, BinnedBatchesArePaddedByHalfABin) {
  const ClusterShape one{1, 1, Bytes(80'000'000'000)};
  FrameworkSpec f;
  const auto padded = build_workload(bert_512(), f, one);
  f.input.sequence_bin = 64;
  const auto binned = build_workload(bert_512(), f, one);
  ASSERT_TRUE(padded.ok() && binned.ok());
  EXPECT_EQ(rows_of_first_product(*padded), 2 * 512);
  EXPECT_EQ(rows_of_first_product(*binned), 2 * (256 + 32));
  EXPECT_EQ(padded->dense_parameters, binned->dense_parameters);  // positions keep their 512 rows
}

TEST(Transformer, AnUnfusedOptimizerLeavesATensorBetweenCalls) {
  const ClusterShape one{1, 1, Bytes(80'000'000'000)};
  ModelSpec m = bert_512();
  m.optimizer = graph::OptimizerKind::lamb;
  FrameworkSpec f;
  f.kernels.fused_optimizer = false;
  const auto w = build_workload(m, f, one);
  ASSERT_TRUE(w.ok()) << w.error().text();
  bool found = false;
  for (const graph::Op& op : w->graph.ops) {
    const auto* e = std::get_if<graph::Elementwise>(&op);
    if (e == nullptr || e->elements != w->dense_parameters) continue;
    found |= e->reads == 8 && e->writes == 8;  // nine calls
  }
  EXPECT_TRUE(found);
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
