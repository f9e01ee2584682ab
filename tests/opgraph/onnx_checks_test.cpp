// ONNX models that contradict themselves, each in one op, and the sound ones beside them.
#include <gtest/gtest.h>

#include <functional>

#include "onnx_models.hpp"

namespace distsim::opgraph {
namespace {

std::string refusal(const Model& model) {
  const auto graph = parse_op_graph(model.text(), "m.onnx");
  return graph.ok() ? "" : graph.error().text();
}

/// A product, and the node under test behind it: x [batch, 64] -> h [batch, 64] -> y.
Model behind_product() {
  Model m;
  m.input("x", {-1, 64}).output("y").weight("w", {64, 64});
  m.node("MatMul", {"x", "w"}, {"h"});
  return m;
}

/// The same with an image: h [batch, 32, 8, 8].
Model behind_convolution() {
  Model m;
  m.input("x", {-1, 3, 8, 8}).output("y").weight("w", {32, 3, 1, 1});
  m.node("Conv", {"x", "w"}, {"h"});
  return m;
}

Model split(const std::vector<std::int64_t>& sizes) {
  Model m = behind_product();
  m.numbers("sizes", sizes);
  Model::integer(m.node("Split", {"h", "sizes"}, {"y", "z"}), "axis", 1);
  return m;
}

Model concat(std::int64_t rows) {
  Model m;
  m.input("a", {8, 64}).input("b", {rows, 64}).output("y").weight("w", {64, 64});
  m.node("MatMul", {"a", "w"}, {"h"});
  m.node("MatMul", {"b", "w"}, {"g"});
  Model::integer(m.node("Concat", {"h", "g"}, {"y"}), "axis", 1);
  return m;
}

Model batch_norm(std::int64_t scale, std::int64_t variance) {
  Model m = behind_convolution();
  m.weight("s", {scale}).weight("b", {32}).weight("mean", {32}).weight("var", {variance});
  m.node("BatchNormalization", {"h", "s", "b", "mean", "var"}, {"y"});
  return m;
}

Model layer_norm(const std::vector<std::int64_t>& scale, std::int64_t shift) {
  Model m = behind_product();
  m.weight("s", scale).weight("b", {shift});
  m.node("LayerNormalization", {"h", "s", "b"}, {"y"});
  return m;
}

Model group_norm(std::int64_t groups, std::int64_t scale) {
  Model m = behind_convolution();
  m.weight("s", {scale}).weight("b", {scale});
  Model::integer(m.node("GroupNormalization", {"h", "s", "b"}, {"y"}), "num_groups", groups);
  return m;
}

Model convolution(std::int64_t filters, const std::vector<std::int64_t>& bias, std::int64_t groups) {
  Model m;
  m.input("x", {-1, 4, 8, 8}).output("y").weight("w", {filters, 4 / groups, 1, 1}).weight("b", bias);
  Model::integer(m.node("Conv", {"x", "w", "b"}, {"y"}), "group", groups);
  return m;
}

Model gemm(const std::vector<std::int64_t>& bias) {
  Model m;
  m.input("x", {-1, 64}).output("y").weight("w", {64, 32}).weight("b", bias);
  m.node("Gemm", {"x", "w", "b"}, {"y"});
  return m;
}

Model recurrent(const std::string& op, std::int64_t rows, std::int64_t hidden, const std::string& direction = "forward",
                std::int64_t first_states = 1) {
  Model m;
  m.input("x", {10, 8, 16})
      .output("y")
      .weight("w", {1, rows, 16})
      .weight("r", {1, rows, 32})
      .weight("b", {1, 2 * rows});
  m.weight("state", {1, first_states, 32});
  onnx::Node& n = m.node(op, {"x", "w", "r", "b", "", "state"}, {"y"});
  Model::integer(n, "hidden_size", hidden), Model::text(n, "direction", direction);
  return m;
}

/// The same with constant lengths of its 8 sequences of 10 steps.
Model with_lengths(const std::vector<std::int64_t>& lengths) {
  Model m = recurrent("LSTM", 128, 32);
  m.numbers("lengths", lengths);
  m.graph().mutable_node(0)->set_input(4, "lengths");
  return m;
}

Model cumulative(const std::vector<std::int64_t>& axis) {
  Model m = behind_product();
  m.numbers("axis", axis).node("CumSum", {"h", "axis"}, {"y"});
  return m;
}

/// Without the sizes of its parts.
Model equal_split(std::int64_t opset) {
  Model m;
  m.opset(opset).input("x", {8, 50}).output("y").weight("w", {50, 50});
  m.node("MatMul", {"x", "w"}, {"h"});
  Model::integer(m.node("Split", {"h"}, {"y", "z", "u"}), "axis", 1);
  return m;
}

Model resize(const std::vector<float>& scales, const std::vector<std::int64_t>& sizes = {},
             const std::vector<std::int64_t>& result = {}) {
  Model m;
  m.input("x", {2, 3, 8, 8}).output("y", result).weight("w", {32, 3, 1, 1});
  m.node("Conv", {"x", "w"}, {"h"});
  if (!scales.empty()) {
    m.weight("scales", {static_cast<std::int64_t>(scales.size())});
    for (const float scale : scales) m.last_initializer().add_float_data(scale);
  }
  if (!sizes.empty()) m.numbers("sizes", sizes);
  m.node("Resize", {"h", "", scales.empty() ? "" : "scales", sizes.empty() ? "" : "sizes"}, {"y"});
  return m;
}

Model scatter(const std::string& op, const std::vector<std::int64_t>& places,
              const std::vector<std::int64_t>& updates) {
  Model m = behind_product();
  m.weight("u", updates).weight("i", places, kInt64);
  std::int64_t all = 1;
  for (const std::int64_t n : places) all *= n;
  for (std::int64_t i = 0; i < all; ++i) m.last_initializer().add_int64_data(0);
  m.node(op, {"h", "i", "u"}, {"y"});
  return m;
}

Model gather(const std::string& op, const std::vector<std::int64_t>& places, std::int64_t axis) {
  Model m = behind_product();
  m.numbers("i", places);
  Model::integer(m.node(op, {"h", "i"}, {"y"}), "axis", axis);
  return m;
}

Model top_k(std::int64_t k) {
  Model m = behind_product();
  m.numbers("k", {k}).node("TopK", {"h", "k"}, {"y", "places"});
  return m;
}

Model loss(const std::vector<std::int64_t>& targets, int type) {
  Model m = behind_product();
  m.input("t", targets, type).node("SoftmaxCrossEntropyLoss", {"h", "t"}, {"y"});
  return m;
}

Model with_attribute(const std::function<void(onnx::Node&)>& change) {
  Model m;
  m.input("x", {-1, 64}).output("y").weight("w", {64, 64});
  change(m.node("Gemm", {"x", "w"}, {"y"}));
  return m;
}

constexpr std::int32_t kStatedNumber = 1, kStatedInteger = 2;  // AttributeProto.AttributeType

TEST(OnnxChecks, SoundModelsAreRead) {
  const Model sound[] = {
      split({16, 48}),
      concat(8),
      batch_norm(32, 32),
      layer_norm({64}, 64),
      layer_norm({1}, 64),
      layer_norm({1, 64}, 64),
      group_norm(4, 32),
      group_norm(4, 4),  // of opset 18
      convolution(6, {6}, 2),
      gemm({32}),
      gemm({1, 32}),
      gemm({1}),
      recurrent("LSTM", 128, 32),
      recurrent("LSTM", 128, 32, "reverse", 8),
      recurrent("GRU", 96, 32),
      with_lengths({10, 3, 0, 1, 1, 1, 1, 1}),
      with_lengths({10}),
      cumulative({1}),
      cumulative({-2}),
      equal_split(18),
      resize({1, 1, 2, 2}),
      resize({1, 1, 2, 2}, {}, {2, 32, 16, 16}),
      resize({1, 1, 1.375F, 0.25F}, {}, {2, 32, 11, 2}),
      resize({}, {2, 32, 20, 20}, {2, 32, 20, 20}),
      resize({}, {}, {2, 32, 20, 20}),
      scatter("ScatterElements", {2, 3}, {2, 3}),
      scatter("ScatterND", {3, 1}, {3, 64}),
      scatter("ScatterND", {3, 2}, {3}),
      gather("Gather", {0, 63, -64}, 1),
      gather("Gather", {1}, 0),
      gather("Gather", {1, 40}, 0),  // of so many samples, and no fewer
      top_k(64),
      loss({-1}, kInt64),
      with_attribute([](onnx::Node& n) { Model::integer(n, "transB", 1); }),
      with_attribute([](onnx::Node& n) { Model::integer(n, "unheard_of", 1); }),
      with_attribute([](onnx::Node& n) {
        n.add_attribute()->set_name("transB");  // a zero that its writer left out
        n.mutable_attribute(0)->set_type(kStatedInteger);
      }),
  };
  for (const Model& m : sound) EXPECT_EQ(refusal(m), "");
}

TEST(OnnxChecks, ContradictionsAreRefusedInOneLineWithTheInput) {
  const std::pair<Model, std::string> cases[] = {
      {split({64, 64}), "(Split): split: found parts of 128 in all, expected the 64 of the dimension"},
      {split({8, 8}), "(Split): split: found parts of 16 in all, expected the 64 of the dimension"},
      {concat(9000),
       "(Concat): input 1 ('g'): found sizes 9000x64, expected the 8x64 of input 0 in all dimensions but 1"},
      {batch_norm(7, 32), "(BatchNormalization): input 1 ('s'): found sizes 7, expected 32"},
      {batch_norm(32, 7), "(BatchNormalization): input 4 ('var'): found sizes 7, expected 32"},
      {layer_norm({7}, 64), "(LayerNormalization): input 1 ('s'): found sizes 7, expected what is broadcast to 2x64"},
      {layer_norm({64}, 7), "(LayerNormalization): input 2 ('b'): found sizes 7"},
      {group_norm(5, 32), "(GroupNormalization): num_groups: found 5, expected a divisor of the 32 channels"},
      {group_norm(4, 3200), "(GroupNormalization): input 1 ('s'): found sizes 3200, expected 32"},
      {convolution(6, {5}, 1), "(Conv): input 2 ('b'): found sizes 5, expected 6"},
      {convolution(6, {6, 6}, 1), "(Conv): input 2 ('b'): found sizes 6x6, expected 6"},
      {convolution(7, {7}, 2), "(Conv): input 1 ('w'): found 7 filters, expected a multiple of 2 groups"},
      {gemm({5}), "(Gemm): input 2 ('b'): found sizes 5, expected what is broadcast to 2x32"},
      {gemm({7, 9, 32}), "(Gemm): input 2 ('b'): found sizes 7x9x32"},
      {recurrent("LSTM", 128, 3200), "(LSTM): input 1 ('w'): found sizes 1x128x16, expected 1x12800x16"},
      {recurrent("LSTM", 128, 32, "bidirectional"), "(LSTM): input 1 ('w'): found sizes 1x128x16, expected 2x128x16"},
      {recurrent("LSTM", 128, 32, "bidir"),
       "(LSTM): attribute 'direction': found 'bidir', expected forward, reverse or bidirectional"},
      {recurrent("LSTM", 128, 32, "forward", 5), "(LSTM): input 5 ('state'): found sizes 1x5x32, expected 1x8x32"},
      {recurrent("GRU", 128, 32), "(GRU): input 1 ('w'): found sizes 1x128x16, expected 1x96x16"},
      {recurrent("RNN", 96, 32), "(RNN): input 1 ('w'): found sizes 1x96x16, expected 1x32x16"},
      {with_lengths({10, 3}), "(LSTM): input 4 ('lengths'): found sizes 2, expected 8"},
      {with_lengths({11, 3, 0, 1, 1, 1, 1, 1}), "(LSTM): input 4 ('lengths'): found the length 11, expected 0 .. 10"},
      {cumulative({2}), "(CumSum): "},
      {cumulative({0, 1}), "(CumSum): input 1 ('axis'): found sizes 2, expected the number of one dimension"},
      {equal_split(17), "(Split): split: found 3 parts of 50, expected equal ones where their sizes are not stated"},
      {resize({1, 2, 2}), "(Resize): found 3 scales, expected one for each of 4 dimensions"},
      {resize({1, 1, 0, 2}), "(Resize): found a scale that is not above 0"},
      {resize({}, {20, 20}), "(Resize): found 2 sizes, expected one for each of 4 dimensions"},
      {resize({}, {}, {32, 20, 20}), "(Resize): found a result of 3 dimensions, expected 4"},
      {resize({1, 1, 2, 2}, {}, {2, 32, 99, 16}), "output 'y': found dimension 2 of 99, expected 16"},
      {scatter("ScatterElements", {2, 3}, {500, 500}),
       "(ScatterElements): input 2 ('u'): found sizes 500x500, expected 2x3"},
      {scatter("ScatterElements", {3, 65}, {3, 65}),
       "(ScatterElements): input 1 ('i'): found sizes 3x65, expected at most the 2x64 of input 0 in all dimensions but 0"},
      {scatter("ScatterND", {3, 1}, {500, 500}), "(ScatterND): input 2 ('u'): found sizes 500x500, expected 3x64"},
      {scatter("ScatterND", {3, 3}, {3}), "(ScatterND): input 1 ('i'): found 3 coordinates, expected at most the 2"},
      {gather("GatherElements", {0, 1}, 1), "(GatherElements): input 1 ('i'): found sizes 2"},
      {gather("Gather", {999}, 1), "(Gather): input 1 ('i'): found the place 999, expected one of a dimension of 64"},
      {gather("Gather", {0, -65}, 1), "(Gather): input 1 ('i'): found the place -65"},
      {top_k(1000), "(TopK): input 1 ('k'): found 1000, expected at most the 64 of dimension 1"},
      {loss({999}, kInt64), "(SoftmaxCrossEntropyLoss): input 1 ('t'): found sizes 999, expected 2"},
      {loss({-1}, kFloat), "(SoftmaxCrossEntropyLoss): input 1 ('t'): found targets that are no whole numbers"},
      {with_attribute([](onnx::Node& n) { Model::integer(n, "transB", 0), Model::integer(n, "transB", 1); }),
       "(Gemm): attribute 'transB': found twice, expected once"},
      {with_attribute([](onnx::Node& n) {
         n.add_attribute()->set_name("transB");
         n.mutable_attribute(0)->set_f(1);
       }),
       "(Gemm): attribute 'transB': found a number, expected a whole number"},
      {with_attribute([](onnx::Node& n) {
         Model::integer(n, "transB", 1);
         n.mutable_attribute(0)->set_type(kStatedNumber);
       }),
       "(Gemm): attribute 'transB': found a number, expected a whole number"},
      {with_attribute([](onnx::Node& n) { Model::list(n, "transB", {1}); }),
       "(Gemm): attribute 'transB': found a list of whole numbers, expected a whole number"},
  };
  for (const auto& [model, expected] : cases) {
    const std::string text = refusal(model);
    EXPECT_NE(text.find(expected), text.npos) << expected << ": " << text;
    EXPECT_EQ(text.find('\n'), text.npos) << text;
  }
}

TEST(OnnxChecks, OptionsThatAreReadHaveTheirTypes) {
  for (const char* option : {"layout", "noop_with_empty_axes", "num_outputs", "spatial"}) {
    const std::string why = refusal(with_attribute([&](onnx::Node& n) {
      onnx::Attribute& a = *n.add_attribute();
      a.set_name(option), a.set_f(1);
    }));
    EXPECT_NE(why.find("found a number, expected a whole number"), std::string::npos) << option << ": " << why;
  }
}

/// A value that none of the standard's is would be read as the default.
TEST(OnnxChecks, OptionsHaveOneOfTheirValues) {
  const auto lstm = [](auto option) {
    Model m = recurrent("LSTM", 128, 32);
    option(*m.graph().mutable_node(m.graph().node_size() - 1));
    return m;
  };
  const auto activations = [](onnx::Node& n, const std::vector<std::string>& names) {
    onnx::Attribute& a = *n.add_attribute();
    a.set_name("activations");
    for (const std::string& name : names) a.add_strings(name);
  };
  const auto resized_by = [](const std::string& mode) {
    Model m = resize({1, 1, 2, 2});
    onnx::Node& n = *m.graph().mutable_node(m.graph().node_size() - 1);
    for (int i = n.attribute_size(); i-- > 0;) {
      if (n.attribute(i).name() == "mode") n.mutable_attribute()->DeleteSubrange(i, 1);
    }
    Model::text(n, "mode", mode);
    return m;
  };
  const std::pair<Model, std::string> cases[] = {
      {lstm([](onnx::Node& n) { Model::integer(n, "layout", 2); }),
       "(LSTM): attribute 'layout': found 2, expected 0 or 1"},
      {lstm([](onnx::Node& n) { Model::integer(n, "linear_before_reset", -7); }), "found -7, expected 0 or 1"},
      {lstm([&](onnx::Node& n) {
         activations(n, {"Sigmoid", "Tanh", "Tan"});
       }),
       "attribute 'activations': found 'Tan', expected relu, tanh, sigmoid,"},
      {lstm([&](onnx::Node& n) {
         activations(n, {"Sigmoid", "Tanh"});
       }),
       "activations: found 2, expected 3"},
      {lstm([&](onnx::Node& n) {
         activations(n, {"Sigmoid", "tanh", "Tanh"});
       }),
       ""},
      {resized_by("bogus"), "(Resize): attribute 'mode': found 'bogus', expected nearest, linear or cubic"},
      {resized_by("cubic"), ""},
      {with_attribute([](onnx::Node& n) { Model::integer(n, "transA", 2); }), "found 2, expected 0 or 1"},
      {[] {
         Model m = behind_product();
         m.weight("whole", {64, 8}, kInt64);
         m.last_initializer().set_raw_data(std::string(64 * 8 * sizeof(std::int64_t), '\0'));
         m.node("MatMul", {"h", "whole"}, {"y"});
         return m;
       }(),
       "(MatMul): input 1 ('whole'): found whole numbers of 8 bytes, expected floating-point ones as of input 0"},
  };
  for (const auto& [model, expected] : cases) {
    const std::string text = refusal(model);
    EXPECT_EQ(text.empty(), expected.empty()) << text;
    EXPECT_NE(text.find(expected), text.npos) << expected << ": " << text;
  }
}

/// An attribute that no op has is named, and the one it is like.
TEST(OnnxChecks, AttributesThatNoOpHasAreNamed) {
  const auto remarks = [](const Model& m) {
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return graph.ok() ? graph->remarks : std::vector<std::string>();
  };
  const std::string where = "node '/y/Gemm' (Gemm): attribute ";
  EXPECT_EQ(remarks(with_attribute([](onnx::Node& n) { Model::integer(n, "transb", 1); })),
            std::vector{where + "'transb': found none of ONNX's, did you mean 'transB'? It is not used"});
  EXPECT_EQ(remarks(with_attribute(
                [](onnx::Node& n) { Model::integer(n, "unheard_of_here", 1), Model::integer(n, "padz", 1); })),
            std::vector{where + "'unheard_of_here': found none of ONNX's; it is not used, as 1 more"});
  for (const char* known : {"alpha", "axis", "stash_type", "p"})
    EXPECT_TRUE(remarks(with_attribute([&](onnx::Node& n) {
                  onnx::Attribute& a = *n.add_attribute();
                  a.set_name(known);
                })).empty())
        << known;
}

/// Places that a model computes from its shapes keep their dimensions: a table of them is joined column by column.
TEST(OnnxChecks, FoldedPlacesKeepTheirSizes) {
  Model m = behind_product();
  m.numbers("rows", {0, 1, 1}).numbers("columns", {3, 63, 5}).numbers("last", {1}).weight("u", {3});
  m.node("Unsqueeze", {"rows", "last"}, {"r"});
  m.node("Unsqueeze", {"columns", "last"}, {"c"});
  Model::integer(m.node("Concat", {"r", "c"}, {"places"}), "axis", -1);
  m.node("ScatterND", {"h", "places", "u"}, {"y"});
  EXPECT_EQ(refusal(m), "");
  m.graph().mutable_initializer(2)->set_int64_data(1, 64);
  EXPECT_NE(refusal(m).find("(ScatterND): input 1 ('places'): found the place 64, expected one of a dimension of 64"),
            std::string::npos)
      << refusal(m);
}

TEST(OnnxChecks, OtherTypesThanANodeMakesAreNamed) {
  constexpr int kHalf = 10;
  const auto remarks = [](int of_output, int between) {
    Model m = behind_product();
    m.node("Relu", {"h"}, {"y"});
    m.states("h", {-1, 64});
    m.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(of_output);
    m.graph().mutable_value_info(0)->mutable_type()->mutable_tensor_type()->set_elem_type(between);
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return graph.ok() ? graph->remarks : std::vector<std::string>();
  };
  EXPECT_TRUE(remarks(kFloat, kFloat).empty());
  EXPECT_EQ(
      remarks(kHalf, kInt64),
      (std::vector<std::string>{
          "output 'y': found floating-point numbers of 2 bytes, expected floating-point numbers of 4 bytes, which its "
          "node makes; what is stated is not used",
          "value_info 'h': found whole numbers of 8 bytes, expected floating-point numbers of 4 bytes, which its node "
          "makes; what is stated is not used"}));
}

}  // namespace
}  // namespace distsim::opgraph
