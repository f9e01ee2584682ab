// Hugging Face's models kernel by kernel: their weights and operations.
#include "sim/workload/llm/layer_by_layer/transformers_layers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "../shipped_models.hpp"

namespace distsim::workload {
namespace {

const FrameworkSpec kHfPlain;
const LayerContext kHfContext{{}, &kHfPlain};

std::vector<Layer> layers(const LlmSpec& spec, std::int64_t samples = 1, const LayerContext& context = kHfContext) {
  return transformers_layers(spec, samples, context, 0, true);
}

std::size_t kernels_of(const std::vector<Layer>& all, std::string_view part, bool backward) {
  std::size_t count = 0;
  for (const Layer& layer : all) {
    for (const LayerOp& op : backward ? layer.backward : layer.forward)
      count += op.name.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(TransformersLayers, HaveTheWeightsOfTheModel) {
  for (const std::string name : {"bert_large", "gpt2_large", "gpt3_xl", "gpt3_27", "opt_13", "switchxl4", "switch4"}) {
    const LlmSpec spec = shipped_model(name).as<LlmSpec>();
    const double expected = parameters_of(spec).all, found = static_cast<double>(parameters_of(layers(spec)));
    EXPECT_NEAR(found, expected, 0.001 * expected) << name;
  }
  // BertForPreTraining, 24 blocks of 1024, as in layer_by_layer_test.cpp; OPT-1.3B: 1,315,758,080 (facebook/opt-1.3b).
  EXPECT_EQ(parameters_of(layers(shipped_model("bert_large").as<LlmSpec>())), 335'141'888 + 1'084'220);
  EXPECT_NEAR(static_cast<double>(parameters_of(layers(shipped_model("opt_13").as<LlmSpec>()))), 1'315'758'080, 1e5);
}

TEST(TransformersLayers, BackwardHasTwoProductsForEachForwardOne) {
  for (const std::string name : {"bert_large", "gpt2_large", "opt_13", "switch4"}) {
    double forward = 0, backward = 0;
    for (const Layer& layer : layers(shipped_model(name).as<LlmSpec>(), 3)) {
      forward += matrix_flops(layer.forward);
      backward += matrix_flops(layer.backward);
    }
    EXPECT_NEAR(backward, 2 * forward, 1e-9 * forward) << name;
  }
}

TEST(TransformersLayers, KernelsAreThoseOfTheClass) {
  const LlmSpec gpt2 = shipped_model("gpt2_large").as<LlmSpec>(), opt = shipped_model("opt_13").as<LlmSpec>();
  EXPECT_EQ(kernels_of(layers(gpt2), "block0.mlp.activation", false), 8u);
  EXPECT_EQ(kernels_of(layers(gpt2), "block0.mlp.activation", true), 11u);
  EXPECT_EQ(kernels_of(layers(opt), "block0.scores.mask", false), 2u);
  EXPECT_EQ(kernels_of(layers(opt), "block0.scores.mask", true), 5u);
  EXPECT_EQ(kernels_of(layers(opt), "block0.scores.dropout", false), 0u);
  EXPECT_EQ(kernels_of(layers(gpt2), "block0.scores.dropout", false), 1u);
  EXPECT_EQ(kernels_of(layers(gpt2), ".bias", false), 0u);  // inside the products
  FrameworkSpec compiling;
  compiling.kernels.compiled = true;
  EXPECT_EQ(kernels_of(layers(gpt2, 1, {{}, &compiling}), "block0.mlp.activation", false), 1u);
  EXPECT_EQ(kernels_of(layers(gpt2, 1, {{}, &compiling}), "block0.scores.mask", false), 0u);
}

/// What a block of eager code makes the host do: as counted in Hugging Face's classes, in an execution trace of GPT-2 and by
/// distsim_capture in modules with the calls of the others. Where autograd adds gradients up by itself, no call.
TEST(TransformersLayers, CallsOfABlockAreThoseOfTheClass) {
  FrameworkSpec eager;
  eager.host.eager = true;
  const auto calls = [&](const char* name, bool backward) {
    std::uint32_t sum = 0;
    for (const Layer& layer : layers(shipped_model(name).as<LlmSpec>(), 4, {{}, &eager})) {
      if (!layer.name.starts_with("block1.")) continue;
      for (const LayerOp& op : backward ? layer.backward : layer.forward) sum += op.dispatch.framework_ops;
    }
    return sum;
  };
  EXPECT_EQ(calls("bert_large", false), 29u);
  EXPECT_EQ(calls("bert_large", true), 76u);
  EXPECT_EQ(calls("gpt2_large", false), 51u);
  EXPECT_EQ(calls("gpt2_large", true), 65u);
  EXPECT_EQ(calls("opt_13", false), 40u);
  EXPECT_EQ(calls("opt_13", true), 70u);
}

/// An encoder-decoder of 4 experts in every second layer reads back two numbers for each.
TEST(TransformersLayers, ExpertsMakeTheHostWait) {
  const LlmSpec spec = shipped_model("switch4").as<LlmSpec>();
  std::size_t waits = 0;
  for (const Layer& layer : layers(spec))
    waits += static_cast<std::size_t>(std::ranges::count_if(layer.forward, &LayerOp::blocks_host));
  EXPECT_EQ(waits, 2u * 4 * 12);
}

/// Work follows the samples.
TEST(TransformersLayers, OperationsAreProportionalToSamples) {
  for (const std::string name : {"bert_large", "gpt2_large", "opt_13", "switch4"}) {
    const LlmSpec spec = shipped_model(name).as<LlmSpec>();
    const double one = forward_matrix_flops(layers(spec, 4)), five = forward_matrix_flops(layers(spec, 20));
    EXPECT_NEAR(five, 5 * one, 1e-9 * five) << name;
  }
}

TEST(TransformersLayers, RefusesWhatItsClassHasNot) {
  LlmSpec spec = shipped_model("gpt2_large").as<LlmSpec>();
  EXPECT_FALSE(unlike_its_class(spec).has_value());
  spec.positions = LlmPositions::rope;
  EXPECT_NE(unlike_its_class(spec)->find("positions"), std::string::npos);
  spec.model_type = LlmClass::none;
  EXPECT_FALSE(unlike_its_class(spec).has_value());
}

}  // namespace
}  // namespace distsim::workload
