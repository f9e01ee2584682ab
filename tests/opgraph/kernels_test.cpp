// What calls become: shapes worked out by hand.
#include "sim/opgraph/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace distsim::opgraph {
namespace {

/// A graph of one call, built tensor by tensor.
struct OneCall {
  OpGraph graph;
  Node node;

  explicit OneCall(const std::string& op) { node.op = op; }
  std::uint32_t tensor(const Dims& dims, const std::string& type) {
    Tensor t;
    for (const std::int64_t d : dims) t.dims.push_back({d, 0});
    t.element = element_named(type).value();
    graph.tensors.push_back(t);
    return static_cast<std::uint32_t>(graph.tensors.size() - 1);
  }
  OneCall& in(const Dims& dims, const std::string& type = "float32") {
    node.inputs.push_back({Argument::Kind::tensors, {tensor(dims, type)}, {}, ""});
    return *this;
  }
  OneCall& number(double n) {
    node.inputs.push_back({Argument::Kind::number, {}, {n}, ""});
    return *this;
  }
  OneCall& numbers(const std::vector<double>& n) {
    node.inputs.push_back({Argument::Kind::numbers, {}, n, ""});
    return *this;
  }
  OneCall& none() {
    node.inputs.push_back({});
    return *this;
  }
  OneCall& out(const Dims& dims, const std::string& type = "float32") {
    node.outputs.push_back(tensor(dims, type));
    return *this;
  }
  Kernels kernels() const {
    const Sizes sizes(graph, 1);
    return kernels_of(Call(sizes, node));
  }
};

template <class Op>
Op only(const Kernels& k) {
  CHECK(k.ops.size() == 1 && k.listed) << k.ops.size() << " kernels";
  return std::get<Op>(k.ops.front());
}

/// The arguments of PyTorch's native_functions.yaml: T of the sizes of the queries, S a small tensor, - none, n a number that is not
/// 0, d the probability of dropout, c whether the mask is causal, l a list.
TEST(Kernels, AttentionSaysItsMaskAndDropout) {
  const std::vector<std::pair<std::string, std::string>> schemas{
      {"scaled_dot_product_attention", "TTT-dc"},
      {"_scaled_dot_product_attention", "TTT-dnc"},
      {"_scaled_dot_product_flash_attention", "TTTdcn"},
      {"_scaled_dot_product_flash_attention_for_cpu", "TTTdc"},
      {"_scaled_dot_product_efficient_attention", "TTT-ndc"},
      {"_scaled_dot_product_cudnn_attention", "TTT-ndcn"},
      {"_scaled_dot_product_flash_attention_backward", "TTTTTS--nndcSS"},
      {"_scaled_dot_product_efficient_attention_backward", "TTTT-TSSSdlc"},
      {"_scaled_dot_product_cudnn_attention_backward", "TTTTTSSS---nndc"},
  };
  const Dims whole{8, 16, 128, 64};
  for (const auto& [op, schema] : schemas) {
    for (const auto& [causal, dropout] : {std::pair(0, 0), {1, 0}, {0, 1}, {1, 1}}) {
      OneCall call("aten::" + op);
      for (const char c : schema) {
        if (c == 'T') call.in(whole, "float16");
        if (c == 'S') call.in({8, 16});
        if (c == '-') call.none();
        if (c == 'l') call.numbers({1, 1, 1, 0});
        if (c == 'n') call.number(128);
        if (c == 'd') call.number(0.1 * dropout);
        if (c == 'c') call.number(causal);
      }
      call.out(whole, "float16");
      const auto attention = only<graph::Attention>(call.kernels());
      EXPECT_EQ(std::pair(attention.causal, attention.dropout), std::pair(causal == 1, dropout == 1)) << op;
      leave_out_dropout(call.node);
      const auto alone = only<graph::Attention>(call.kernels());
      EXPECT_EQ(std::pair(alone.causal, alone.dropout), std::pair(causal == 1, false)) << op;
    }
  }
}

TEST(Kernels, ProductsOfEveryForm) {
  const auto mm = only<graph::Gemm>(OneCall("aten::mm").in({64, 128}).in({128, 32}).out({64, 32}).kernels());
  EXPECT_EQ(std::tuple(mm.batch, mm.m, mm.n, mm.k), std::tuple(1, 64, 32, 128));
  const auto addmm =
      only<graph::Gemm>(OneCall("aten::addmm").in({32}).in({64, 128}).in({128, 32}).out({64, 32}).kernels());
  EXPECT_EQ(std::tuple(addmm.m, addmm.n, addmm.k), std::tuple(64, 32, 128));
  const auto bmm = only<graph::Gemm>(
      OneCall("aten::bmm").in({6, 64, 16}, "float16").in({6, 16, 24}, "float16").out({6, 64, 24}, "float16").kernels());
  EXPECT_EQ(std::tuple(bmm.batch, bmm.m, bmm.n, bmm.k), std::tuple(6, 64, 24, 16));
  EXPECT_EQ(bmm.dtype, graph::DType::fp16);
  const auto linear =
      only<graph::Gemm>(OneCall("aten::linear").in({2, 8, 16}).in({5, 16}).in({5}).out({2, 8, 5}).kernels());
  EXPECT_EQ(std::tuple(linear.m, linear.n, linear.k), std::tuple(16, 5, 16));
}

/// ResNet's first layer, and a filter of 1 x 7 whose padding differs between height and width: equal operations.
TEST(Kernels, ConvolutionsKeepTheirOperations) {
  const auto conv = only<graph::Conv2d>(OneCall("aten::convolution")
                                            .in({8, 3, 224, 224})
                                            .in({64, 3, 7, 7})
                                            .none()
                                            .numbers({2, 2})
                                            .numbers({3, 3})
                                            .numbers({1, 1})
                                            .number(0)
                                            .numbers({0, 0})
                                            .number(1)
                                            .out({8, 64, 112, 112})
                                            .kernels());
  EXPECT_EQ(conv.useful_flops(), 2.0 * 8 * 64 * 112 * 112 * 3 * 49);
  EXPECT_EQ(std::tuple(conv.h, conv.stride, conv.pad), std::tuple(224, 2, 3));
  const auto wide = only<graph::Conv2d>(OneCall("aten::convolution")
                                            .in({8, 32, 17, 17})
                                            .in({64, 32, 1, 7})
                                            .none()
                                            .numbers({1, 1})
                                            .numbers({0, 3})
                                            .numbers({1, 1})
                                            .number(0)
                                            .numbers({0, 0})
                                            .number(1)
                                            .out({8, 64, 17, 17})
                                            .kernels());
  EXPECT_EQ(wide.useful_flops(), 2.0 * 8 * 64 * 17 * 17 * 32 * 7);
  const auto grouped = only<graph::Conv2d>(OneCall("aten::conv2d")
                                               .in({8, 32, 14, 14})
                                               .in({32, 1, 3, 3})
                                               .none()
                                               .numbers({1, 1})
                                               .numbers({1, 1})
                                               .numbers({1, 1})
                                               .number(32)
                                               .out({8, 32, 14, 14})
                                               .kernels());
  EXPECT_EQ(grouped.groups, 32);
}

/// Tensors that cannot be those of one call are estimated, which reports name, and not priced as one of the sizes.
TEST(Kernels, ShapesThatContradictEachOtherAreNotListed) {
  const auto conv = [](const Dims& image, const Dims& filters, const Dims& result) {
    return OneCall("aten::convolution")
        .in(image)
        .in(filters)
        .none()
        .numbers({2, 2})
        .numbers({3, 3})
        .numbers({1, 1})
        .number(0)
        .numbers({0, 0})
        .number(1)
        .out(result)
        .kernels();
  };
  EXPECT_TRUE(conv({8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 112, 112}).listed);
  EXPECT_FALSE(conv({8, 3, 224, 224}, {64, 5, 7, 7}, {8, 64, 112, 112}).listed);
  EXPECT_FALSE(conv({8, 3, 224, 224}, {64, 3, 7, 7}, {8, 32, 112, 112}).listed);
  EXPECT_FALSE(conv({8, 3, 224, 224}, {64, 3, 7, 7}, {4, 64, 112, 112}).listed);
  EXPECT_FALSE(conv({8, 3, 224, 224}, {64, 3, 7, 7}, {8, 64, 10, 10}).listed);
  EXPECT_FALSE(OneCall("aten::mm").in({64, 128}).in({128, 32}).out({64, 33}).kernels().listed);
  EXPECT_TRUE(OneCall("aten::add").in({64, 128}).in({128}).out({64, 128}).kernels().listed);
  EXPECT_FALSE(OneCall("aten::add").in({64, 128}).in({128}).out({64, 1 << 20}).kernels().listed);
  EXPECT_FALSE(OneCall("aten::relu").in({64, 128}).out({1, 1}).kernels().listed);
}

/// Lengths have no height, and sides may differ in strides, paddings and dilations, also where little or nothing is left
/// without the padding: equal operations, and an image of about the same size.
TEST(Kernels, ConvolutionsOfUnequalSidesKeepTheirOperations) {
  struct Side {
    std::int64_t extent, filter, stride, pad, dilation;
    std::int64_t result() const { return (extent + 2 * pad - dilation * (filter - 1) - 1) / stride + 1; }
  };
  const std::vector<std::vector<Side>> cases = {
      {{1000, 3, 1, 1, 1}},                                   // conv1d
      {{1500, 3, 2, 1, 1}},                                   // of Whisper
      {{16000, 10, 5, 0, 1}},                                 // of wav2vec
      {{400, 3, 1, 16, 16}},                                  // of WaveNet
      {{17, 1, 1, 0, 1}, {17, 7, 1, 3, 1}},                   // of Inception
      {{4, 1, 1, 0, 1}, {40, 7, 1, 3, 1}},                    //
      {{33, 5, 2, 1, 1}, {17, 3, 1, 0, 1}},                   //
      {{161, 41, 2, 20, 1}, {500, 11, 1, 5, 1}},              // of Deep Speech 2
      {{40, 3, 1, 0, 1}, {40, 3, 1, 4, 4}},                   //
      {{8, 3, 1, 1, 1}, {33, 5, 2, 2, 1}, {40, 7, 2, 3, 1}},  // conv3d
      {{2, 1, 1, 0, 1}, {9, 1, 1, 0, 1}, {90, 9, 1, 4, 1}},
  };
  for (const std::vector<Side>& sides : cases) {
    std::vector<std::int64_t> image = {4, 16}, filters = {32, 16}, result = {4, 32};
    std::vector<double> strides, pads, dilations;
    double expected = 2.0 * 4 * 32 * 16, area = 1;
    for (const Side& s : sides) {
      image.push_back(s.extent), filters.push_back(s.filter), result.push_back(s.result());
      strides.push_back(static_cast<double>(s.stride)), pads.push_back(static_cast<double>(s.pad));
      dilations.push_back(static_cast<double>(s.dilation));
      expected *= static_cast<double>(s.result() * s.filter);
      if (&s - sides.data() + 2 >= static_cast<std::ptrdiff_t>(sides.size())) area *= static_cast<double>(s.extent);
    }
    const std::vector<double> zeros(sides.size(), 0);
    const auto forward = only<graph::Conv2d>(OneCall("aten::convolution")
                                                 .in(image)
                                                 .in(filters)
                                                 .none()
                                                 .numbers(strides)
                                                 .numbers(pads)
                                                 .numbers(dilations)
                                                 .number(0)
                                                 .numbers(zeros)
                                                 .number(1)
                                                 .out(result)
                                                 .kernels());
    EXPECT_EQ(forward.useful_flops(), expected) << sides.size() << " sides from " << sides[0].extent;
    EXPECT_NEAR(std::log(static_cast<double>(forward.h * forward.w) / area), 0, std::log(1.7)) << sides[0].extent;
    const auto gradients = OneCall("aten::convolution_backward")
                               .in(result)
                               .in(image)
                               .in(filters)
                               .none()
                               .numbers(strides)
                               .numbers(pads)
                               .numbers(dilations)
                               .number(0)
                               .numbers(zeros)
                               .number(1)
                               .numbers({1, 1, 0})
                               .out(image)
                               .out(filters)
                               .kernels();
    ASSERT_EQ(gradients.ops.size(), 2u);
    for (const graph::Op& op : gradients.ops) EXPECT_EQ(std::get<graph::Conv2d>(op).useful_flops(), expected);
  }
}

/// nn.Bilinear(32, 48, 64) of 8 samples, and the gradient of its weight; distances of 40 from 30 rows.
TEST(Kernels, ProductsInsideOfOtherCalls) {
  const auto bilinear = only<graph::Gemm>(OneCall("aten::_trilinear")
                                              .in({8, 32})
                                              .in({64, 32, 48})
                                              .in({8, 48})
                                              .numbers({1, 3})
                                              .numbers({0})
                                              .numbers({1, 2})
                                              .numbers({2, 3})
                                              .number(1)
                                              .out({8, 64})
                                              .kernels());
  EXPECT_EQ(bilinear.useful_flops(), 2.0 * 8 * 64 * 32 * 48);
  const auto gradient = only<graph::Gemm>(OneCall("aten::_trilinear")
                                              .in({8, 32})
                                              .in({8, 64})
                                              .in({8, 48})
                                              .numbers({1, 3})
                                              .numbers({2, 3})
                                              .numbers({1, 2})
                                              .numbers({0})
                                              .number(1)
                                              .out({64, 32, 48})
                                              .kernels());
  EXPECT_EQ(gradient.useful_flops(), bilinear.useful_flops());
  const Kernels distances = OneCall("aten::_euclidean_dist").in({2, 40, 16}).in({2, 30, 16}).out({2, 40, 30}).kernels();
  ASSERT_TRUE(distances.listed);
  double flops = 0;
  for (const graph::Op& op : distances.ops) {
    if (const auto* product = std::get_if<graph::Gemm>(&op)) flops += product->useful_flops();
  }
  EXPECT_EQ(flops, 2.0 * 2 * 40 * 30 * 18);
}

TEST(Kernels, ConvolutionBackwardGivesTheGradientsAskedFor) {
  auto call = [](std::vector<double> mask) {
    return OneCall("aten::convolution_backward")
        .in({8, 64, 56, 56})
        .in({8, 32, 56, 56})
        .in({64, 32, 3, 3})
        .none()
        .numbers({1, 1})
        .numbers({1, 1})
        .numbers({1, 1})
        .number(0)
        .numbers({0, 0})
        .number(1)
        .numbers(mask)
        .out({8, 32, 56, 56})
        .kernels();
  };
  EXPECT_EQ(call({1, 1, 0}).ops.size(), 2u);
  const auto weights = only<graph::Conv2d>(call({0, 1, 0}));
  EXPECT_EQ(weights.pass, graph::Pass::backward_weight);
}

TEST(Kernels, RowsAndChannels) {
  const auto layer = only<graph::Normalization>(OneCall("aten::native_layer_norm")
                                                    .in({4, 8, 1024})
                                                    .numbers({1024})
                                                    .in({1024})
                                                    .in({1024})
                                                    .out({4, 8, 1024})
                                                    .kernels());
  EXPECT_EQ(std::tuple(layer.rows, layer.cols), std::tuple(32, 1024));
  const auto batch =
      only<graph::Normalization>(OneCall("aten::cudnn_batch_norm").in({8, 64, 7, 7}).out({8, 64, 7, 7}).kernels());
  EXPECT_EQ(std::tuple(batch.rows, batch.cols), std::tuple(8 * 49, 64));
  const auto soft = only<graph::Softmax>(
      OneCall("aten::_softmax").in({2, 4, 8, 16}).number(-1).number(0).out({2, 4, 8, 16}).kernels());
  EXPECT_EQ(std::tuple(soft.rows, soft.cols), std::tuple(64, 16));
}

TEST(Kernels, StreamsCountTheirBytes) {
  const auto add =
      only<graph::Elementwise>(OneCall("aten::add.Tensor").in({100, 10}).in({10}).out({100, 10}).kernels());
  EXPECT_EQ(add.elements, 1000);
  EXPECT_DOUBLE_EQ(add.reads, 1.01);
  EXPECT_DOUBLE_EQ(add.writes, 1);
  const auto sum = only<graph::Elementwise>(OneCall("aten::sum.dim_IntList").in({1000, 10}).out({10}).kernels());
  EXPECT_DOUBLE_EQ(sum.writes, 0.001);
  OneCall copy("aten::copy_");
  copy.in({100}).in({100}).out({100});
  copy.graph.tensors[1].on_host = true;
  EXPECT_EQ(only<graph::Copy>(copy.kernels()).kind, graph::CopyKind::h2d);
}

TEST(Kernels, LookupsHaveTheirTable) {
  const auto bag = only<graph::EmbeddingBag>(
      OneCall("aten::_embedding_bag").in({1000, 64}).in({80}, "int64").in({8}, "int64").out({8, 64}).kernels());
  ASSERT_EQ(bag.tables.size(), 1u);
  EXPECT_EQ(bag.tables[0].rows, 1000);
  EXPECT_DOUBLE_EQ(bag.tables[0].pooling_factor, 10);
  EXPECT_EQ(bag.batch, 8);
}

TEST(Kernels, WhatIsNotKnownIsEstimatedAndSaysSo) {
  const Kernels k = OneCall("mine::op").in({100}).in({50}).out({10}).kernels();
  EXPECT_FALSE(k.listed);
  ASSERT_EQ(k.ops.size(), 1u);
  const auto& op = std::get<graph::Unlisted>(k.ops[0]);
  EXPECT_EQ(std::tuple(op.read_bytes, op.written_bytes), std::tuple(600, 40));
  const Kernels odd = OneCall("aten::mm").in({64, 128}).in({127, 32}).out({64, 32}).kernels();  // sizes do not agree
  EXPECT_FALSE(odd.listed);
}

TEST(Kernels, NamesOfOverloadsAndInPlaceOps) {
  EXPECT_EQ(base_name("aten::add_.Tensor"), "add_");
  EXPECT_EQ(listing_of("aten::relu_"), Listing::kernels);
  EXPECT_EQ(listing_of("aten::__or__.Tensor"), Listing::kernels);
  EXPECT_EQ(listing_of("aten::as_strided_"), Listing::nothing);
  EXPECT_EQ(listing_of("aten::no_such_op"), Listing::unlisted);
  EXPECT_EQ(autocast_of("aten::addmm"), Autocast::narrow);
  EXPECT_EQ(autocast_of("aten::_softmax"), Autocast::fp32);
}

/// _cudnn_rnn(input, weights, stride, buffer, hx, cx, mode, hidden, projection, layers, batch_first, dropout, train,
/// bidirectional).
OneCall recurrent_call_of(double mode, double projection, const Dims& x, bool both = true) {
  OneCall c("aten::_cudnn_rnn");
  c.in(x).in({4 * 128, 64}).number(4).none().in({2, 32, 128}).in({2, 32, 128});
  c.number(mode).number(128).number(projection).number(2).number(1).number(0).number(1).number(both ? 1 : 0);
  c.out({x[0], x[1], (both ? 2 : 1) * std::llround(projection > 0 ? projection : 128)});
  return c;
}

double products_of_call(const OneCall& c) {
  const Sizes sizes(c.graph, 1);
  double flops = 0;
  for (const graph::Op& op : kernels_of(Call(sizes, c.node)).ops) {
    if (std::holds_alternative<graph::Gemm>(op) || std::holds_alternative<graph::Recurrent>(op))
      flops += graph::flops_of(op);
  }
  return flops;
}

/// Two layers of both directions: the second reads the outputs of both.
TEST(Kernels, RecurrentLayers) {
  const OneCall c = recurrent_call_of(2, 0, {32, 50, 64});
  const Sizes sizes(c.graph, 1);
  const Kernels kernels = kernels_of(Call(sizes, c.node));
  ASSERT_EQ(kernels.ops.size(), 2u);
  const auto& second = std::get<graph::Recurrent>(kernels.ops[1]);
  EXPECT_EQ(second.batch, 32);
  EXPECT_EQ(second.length, 50);
  EXPECT_EQ(second.input, 256);
  EXPECT_EQ(second.directions, 2);
}

/// MIOpen's calls have neither a buffer of weights nor a projection; other outputs are not those of the layers.
TEST(Kernels, RecurrentLayersOfMiopen) {
  OneCall c("aten::miopen_rnn");
  c.in({32, 50, 64}).in({4 * 128, 64}).number(4).in({2, 32, 128}).in({2, 32, 128});
  c.number(2).number(128).number(2).number(1).number(0).number(1).number(0);
  OneCall other = c;
  EXPECT_EQ(products_of_call(c.out({32, 50, 128})), products_of_call(recurrent_call_of(2, 0, {32, 50, 64}, false)));
  EXPECT_TRUE(c.kernels().listed);
  EXPECT_FALSE(other.out({32, 50, 256}).kernels().listed);
}

/// What has no op of its own runs step by step: one gate instead of three, and a smaller state.
TEST(Kernels, RecurrentLayersStepByStep) {
  const Dims x{32, 50, 64};
  const double steps = 2.0 * 2 * 32 * 50;  // both directions, multiply and add
  EXPECT_EQ(products_of_call(recurrent_call_of(1, 0, x)), steps * 128 * (64 + 128 + 256 + 128));
  EXPECT_EQ(products_of_call(recurrent_call_of(2, 32, x)), steps * (512 * (64 + 32 + 64 + 32) + 2 * 32 * 128));
  EXPECT_NEAR(products_of_call(recurrent_call_of(3, 0, x)), 3 * products_of_call(recurrent_call_of(0, 0, x)), 1);
}

/// The gradient of an index: a warp for single elements, which take as long as 384 bytes, or for 128 elements of a row.
TEST(Kernels, IndexedGradientsByTheLengthOfRows) {
  const auto bytes_of = [](OneCall call) {
    const Kernels k = call.number(1).kernels();
    const auto& op = std::get<graph::Elementwise>(k.ops.front());
    EXPECT_EQ(k.ops.size(), 10u);
    return static_cast<double>(op.elements) * (op.reads + op.writes) * 4;
  };
  OneCall pairs("aten::index_put_");
  pairs.in({2048, 27, 27}).in({351}, "int64");
  pairs.node.inputs[1].tensors.push_back(pairs.tensor({351}, "int64"));
  EXPECT_DOUBLE_EQ(bytes_of(pairs.in({2048, 351})), 2048.0 * 351 * (384 + 3 * 4));
  const auto rows = OneCall("aten::index_put_").in({5000, 1024}).in({300}, "int64").in({300, 1024});
  EXPECT_DOUBLE_EQ(bytes_of(rows), 300.0 * (1024 * 12 + 8 * 384));
  const auto masked = OneCall("aten::index_put_").in({8, 64, 256}).in({8, 64}, "bool").in({100, 256});
  EXPECT_DOUBLE_EQ(bytes_of(masked), 100.0 * (256 * 12 + 2 * 384));
  const auto columns = OneCall("aten::index_put_").in({64, 50, 256}).in({10}, "int64").in({64, 10, 256});
  EXPECT_DOUBLE_EQ(bytes_of(columns), 640.0 * (256 * 12 + 2 * 384));
}

}  // namespace
}  // namespace distsim::opgraph
