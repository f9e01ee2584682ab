// Architectures: parameter counts, output sizes and operations against published figures.
#include <gtest/gtest.h>

#include <map>

#include "sim/workload/models/resnet.hpp"

namespace distsim::workload {
namespace {

const FrameworkSpec kLayersFramework;
const LayerContext kLayersContext{{}, &kLayersFramework};

ResnetSpec resnet(std::int64_t depth, ResnetVariant variant = ResnetVariant::v1_5) {
  ResnetSpec s;
  s.depth = depth;
  s.variant = variant;
  return s;
}

const graph::Conv2d* convolution(const std::vector<Layer>& layers, const std::string& name) {
  for (const Layer& layer : layers) {
    for (const LayerOp& op : layer.forward) {
      if (op.name == name) return std::get_if<graph::Conv2d>(&op.op);
    }
  }
  return nullptr;
}

TEST(Resnet, HasTheParametersOfTorchvision) {
  const std::map<std::int64_t, std::int64_t> published{
      {18, 11'689'512}, {34, 21'797'672}, {50, 25'557'032}, {101, 44'549'160}, {152, 60'192'808}};
  for (const auto& [depth, parameters] : published) {
    for (const ResnetVariant variant : {ResnetVariant::v1, ResnetVariant::v1b, ResnetVariant::v1_5}) {
      EXPECT_EQ(parameters_of(resnet_layers(resnet(depth, variant), 1, kLayersContext)), parameters)
          << depth << " " << static_cast<int>(variant);
    }
  }
}

TEST(Resnet, Resnet50Has161Tensors) {
  // 53 convolutions, 53 norms of two, classifier of two.
  EXPECT_EQ(tensors_of(resnet_layers(resnet(50), 1, kLayersContext)), 53 + 2 * 53 + 2);
}

TEST(Resnet, OperationsMatchPublishedCounts) {
  // torchvision prints multiply-adds at 224 x 224 in units of 1e9: 1.814, 3.664, 4.089, 7.801, 11.514.
  const std::map<std::int64_t, double> published{{18, 1.814}, {34, 3.664}, {50, 4.089}, {101, 7.801}, {152, 11.514}};
  for (const auto& [depth, giga] : published) {
    EXPECT_NEAR(forward_matrix_flops(resnet_layers(resnet(depth), 1, kLayersContext)) / 2e9, giga, 0.0006) << depth;
  }
  // v1 has the stride earlier, so that fewer 3x3 products are computed: 3.858.
  EXPECT_NEAR(forward_matrix_flops(resnet_layers(resnet(50, ResnetVariant::v1), 1, kLayersContext)) / 2e9, 3.858,
              0.001);
}

TEST(Resnet, ImagesShrinkByStage) {
  const auto layers = resnet_layers(resnet(50), 2, kLayersContext);
  const std::map<std::string, std::pair<std::int64_t, std::int64_t>> outputs{{"conv1", {64, 112}},
                                                                             {"layer1.0.conv1", {64, 56}},
                                                                             {"layer1.2.conv3", {256, 56}},
                                                                             {"layer2.0.conv1", {128, 56}},
                                                                             {"layer2.0.conv2", {128, 28}},
                                                                             {"layer2.3.conv3", {512, 28}},
                                                                             {"layer3.0.downsample.0", {1024, 14}},
                                                                             {"layer3.5.conv2", {256, 14}},
                                                                             {"layer4.0.conv2", {512, 7}},
                                                                             {"layer4.2.conv3", {2048, 7}}};
  for (const auto& [name, shape] : outputs) {
    const graph::Conv2d* conv = convolution(layers, name);
    ASSERT_NE(conv, nullptr) << name;
    EXPECT_EQ(conv->k, shape.first) << name;
    EXPECT_EQ(conv->out_h(), shape.second) << name;
    EXPECT_EQ(conv->n, 2) << name;
  }
  EXPECT_EQ(convolution(resnet_layers(resnet(50, ResnetVariant::v1), 1, kLayersContext), "layer2.0.conv1")->out_h(),
            28);  // v1: stride on the 1x1
}

TEST(Resnet, FirstConvolutionHasNoDataGradient) {
  const auto layers = resnet_layers(resnet(50), 1, kLayersContext);
  std::map<graph::Pass, int> passes;
  for (const Layer& layer : layers) {
    for (const LayerOp& op : layer.backward) {
      if (const auto* conv = std::get_if<graph::Conv2d>(&op.op)) ++passes[conv->pass];
    }
  }
  EXPECT_EQ(passes[graph::Pass::backward_weight], 53);
  EXPECT_EQ(passes[graph::Pass::backward_data], 52);
}

TEST(Linear, CastsWeightsWhereTheFrameworkDoes) {
  FrameworkSpec autocast;
  autocast.kernels.cast_weights = true;
  Linear shape{"fc", 8, 16, 32};
  const auto count = [](const Layer& layer) { return layer.forward.size() + layer.backward.size(); };
  const std::size_t plain = count(linear_layer(shape, {numerics_of(Precision::fp32, autocast), &autocast}));
  const std::size_t mixed = count(linear_layer(shape, {numerics_of(Precision::fp16, autocast), &autocast}));
  EXPECT_EQ(mixed, plain + 2);  // weights forward, gradients backward
}

/// Columns of zeros that fill a product up to a multiple of 8 cost time, but are no work of the model.
TEST(Linear, PaddingIsNoWorkOfTheModel) {
  FrameworkSpec f;
  Linear shape{"fc", 8, 1, 4096};
  const LayerContext context{numerics_of(Precision::fp16, f), &f};
  const Layer plain = linear_layer(shape, context);
  shape.padded_in = 8;
  const Layer padded = linear_layer(shape, context);
  EXPECT_DOUBLE_EQ(matrix_flops(padded.forward), matrix_flops(plain.forward));
  EXPECT_DOUBLE_EQ(matrix_flops(padded.backward), matrix_flops(plain.backward));
  EXPECT_GT(graph::flops_of(padded.forward.front().op), graph::flops_of(plain.forward.front().op));
}

}  // namespace
}  // namespace distsim::workload
