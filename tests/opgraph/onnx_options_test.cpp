// Options of ONNX ops that change sizes or gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "onnx_models.hpp"
#include "sim/opgraph/call.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

OpGraph parsed(const Model& model) {
  auto graph = parse_op_graph(model.text(), "m.onnx");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return graph.ok() ? *std::move(graph) : OpGraph();
}

std::ptrdiff_t calls(const OpGraph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes, [&](const Node& n) { return n.op == op; });
}

/// x [batch, 64] -> product -> h -> op -> g -> product -> y.
Model between_products(const std::string& op, const std::vector<std::string>& more = {}) {
  Model m;
  m.input("x", {-1, 64}).output("y", {-1, 64}).weight("w", {64, 64}).weight("v", {64, 64});
  m.node("MatMul", {"x", "w"}, {"h"});
  std::vector<std::string> inputs{"h"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  m.node(op, inputs, {"g"});
  m.node("MatMul", {"g", "v"}, {"y"});
  return m;
}

/// Two products forward, and backward three: the first one's input has no gradient.
TEST(OnnxOptions, GradientsPassWhatHasOne) {
  Model sum = between_products("CumSum", {"axis"});
  sum.numbers("axis", {1});
  Model slope = between_products("PRelu", {"slope"});
  slope.weight("slope", {});
  slope.last_initializer().add_float_data(0.25F);
  Model same = between_products("ReduceSum");
  Model::integer(*same.graph().mutable_node(1), "noop_with_empty_axes", 1);
  const auto products = [](const Model& m) {
    const OpGraph g = parsed(m);
    return calls(g, "aten::mm") + calls(g, "aten::addmm") + calls(g, "aten::matmul");
  };
  const auto expected = products(between_products("Relu"));
  EXPECT_EQ(expected, 5);
  for (const Model& m : {sum, slope, same}) EXPECT_EQ(products(m), expected);
}

/// One kernel makes the gradients of values and slopes; a sum makes that of the slopes theirs.
TEST(OnnxOptions, APReluHasAGradient) {
  for (const Dims& slopes : {Dims{64}, Dims{1}}) {
    Model m = between_products("PRelu", {"slope"});
    m.weight("slope", slopes);
    const OpGraph g = parsed(m);
    EXPECT_EQ(calls(g, "aten::_prelu_kernel_backward"), 1);
    EXPECT_EQ(calls(g, "aten::sum"), calls(parsed(between_products("Relu")), "aten::sum") + 1);
    EXPECT_EQ(g.gradients.size(), 3u);
    const auto backward = std::ranges::find(g.nodes, "aten::_prelu_kernel_backward", &Node::op);
    ASSERT_NE(backward, g.nodes.end());
    EXPECT_EQ(backward->outputs.size(), 2u);
    EXPECT_TRUE(kernels_of(Call(Sizes(g, 1), *backward)).listed);
  }
}

TEST(OnnxOptions, AConstantOfOneElementMayHaveMoreDimensions) {
  Model m;
  m.input("x", {-1, 64}).output("y", {1, -1, 64}).weight("w", {64, 64});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.weight("one", {1, 1, 1}).last_initializer().add_float_data(1);
  m.node("Add", {"h", "one"}, {"y"});
  parsed(m);
}

/// Of 4 pixels with pads of 1 and steps of 3 a third window would begin behind the image.
TEST(OnnxOptions, RoundedUpWindowsBeginInTheImage) {
  Model m;
  m.input("x", {-1, 3, 4, 4}).output("y", {-1, 8, 2, 2}).weight("w", {8, 3, 1, 1});
  m.node("Conv", {"x", "w"}, {"h"});
  onnx::Node& pool = m.node("MaxPool", {"h"}, {"y"});
  Model::list(pool, "kernel_shape", {2, 2});
  Model::list(pool, "strides", {3, 3});
  Model::list(pool, "pads", {1, 1, 1, 1});
  Model::integer(pool, "ceil_mode", 1);
  parsed(m);
}

TEST(OnnxOptions, BatchFirstIsTheSameSequence) {
  const auto of = [](bool batch_first) {
    Model m;
    m.input("x", {-1, 16, 64});
    m.weight("w", {1, 128, 64}).weight("r", {1, 128, 32});
    if (batch_first) {
      m.output("y", {-1, 16, 1, 32});
    } else {
      m.output("y", {16, 1, -1, 32});
      Model::list(m.node("Transpose", {"x"}, {"t"}), "perm", {1, 0, 2});
    }
    onnx::Node& lstm = m.node("LSTM", {batch_first ? "x" : "t", "w", "r"}, {"y"});
    Model::integer(lstm, "hidden_size", 32);
    if (batch_first) Model::integer(lstm, "layout", 1);
    return parsed(m);
  };
  const auto sequence = [](const OpGraph& graph) {
    const auto call = std::ranges::find(graph.nodes, "aten::_cudnn_rnn", &Node::op);
    EXPECT_NE(call, graph.nodes.end());
    return graph.tensors[call->inputs.front().tensors.front()].dims;  // steps, batch and inputs
  };
  EXPECT_EQ(sequence(of(true)), sequence(of(false)));
  EXPECT_EQ(sequence(of(true)).front(), (Extent{16, 0}));
}

/// Steps come first in what a recurrent layer of layout 0 reads.
TEST(OnnxOptions, TheBatchIsWhatIsCalledOrUsedLikeOne) {
  struct Case {
    std::vector<std::string> dims;  ///< of x; empty: without a name
    bool recurrent;                 ///< an LSTM of layout 0 reads x, else a product
    std::size_t batch;              ///< the place that follows the samples
    bool said;
    std::map<std::string, std::int64_t> given;
  };
  const std::vector<Case> cases{{{"sequence", "batch"}, true, 1, false, {{"sequence", 16}}},
                                {{"L", "N"}, true, 1, false, {{"L", 16}}},
                                {{"L", "N"}, false, 1, false, {{"L", 16}}},
                                {{"n", "batch_size"}, false, 1, false, {{"n", 16}}},
                                {{"batch_size", "n"}, false, 0, false, {{"n", 16}}},
                                {{"steps", "who"}, true, 1, false, {{"steps", 16}}},
                                {{"", ""}, true, 1, false, {{"x.0", 16}}},
                                {{"steps", "who"}, false, 0, true, {{"who", 16}}},
                                {{"steps", "batch"}, true, 0, true, {{"batch", 16}}},
                                {{"", ""}, false, 0, false, {{"x.1", 16}}}};
  for (const Case& c : cases) {
    Model m;
    m.input("x", {-1, -1, 64});
    auto& shape = *m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < 2; ++i) shape.mutable_dim(i)->set_dim_param(c.dims[static_cast<std::size_t>(i)]);
    m.output("y");
    if (c.recurrent) {
      m.weight("w", {1, 128, 64}).weight("r", {1, 128, 32});
      Model::integer(m.node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", 32);
    } else {
      m.weight("w", {64, 32});
      m.node("MatMul", {"x", "w"}, {"y"});
    }
    const auto graph = parse_op_graph(m.text(), "m.onnx", {.dimensions = c.given});
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const std::string which = c.dims[0] + ", " + c.dims[1];
    const auto input = std::ranges::find(graph->tensors, TensorRole::input, &Tensor::role);
    ASSERT_NE(input, graph->tensors.end());
    EXPECT_TRUE(graph->any_batch) << which;
    EXPECT_EQ(input->dims[c.batch], (Extent{0, 1})) << which;
    EXPECT_EQ(input->dims[1 - c.batch], (Extent{16, 0})) << which;
    const bool said = std::ranges::any_of(
        graph->remarks, [](const std::string& r) { return r.starts_with("the batch is taken to be "); });
    EXPECT_EQ(said, c.said) << which;
  }
}

/// A plain recurrence is a layer with one gate: for each step and sample, products of the input and of the state.
TEST(OnnxOptions, RecurrentLayersHaveTheirGates) {
  for (const auto& [op, gates] :
       std::vector<std::pair<std::string, std::int64_t>>{{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    Model m;
    m.input("x", {7, -1, 24})
        .output("y", {7, 1, -1, 32})
        .weight("w", {1, gates * 32, 24})
        .weight("r", {1, gates * 32, 32});
    Model::integer(m.node(op, {"x", "w", "r"}, {"y"}), "hidden_size", 32);
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const Sizes sizes(*graph, 5);
    double flops = 0;
    for (const Node& node : graph->nodes) {
      if (node.phase != graph::Phase::forward) continue;
      const Kernels kernels = kernels_of(Call(sizes, node));
      EXPECT_TRUE(kernels.listed) << op;
      for (const graph::Op& kernel : kernels.ops)
        flops += std::holds_alternative<graph::Elementwise>(kernel) ? 0 : graph::flops_of(kernel);
    }
    EXPECT_NEAR(flops, 2.0 * 5 * 7 * gates * 32 * (24 + 32), 0.05 * flops) << op;
    EXPECT_TRUE(std::ranges::any_of(graph->nodes, [](const Node& n) { return n.op == "aten::_cudnn_rnn_backward"; }));
  }
}

/// R says it too: directions x (gates hidden) x hidden.
TEST(OnnxOptions, RecurrentLayersNeedNoHiddenSize) {
  for (const auto& [op, gates] :
       std::vector<std::pair<std::string, std::int64_t>>{{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    Model m;
    m.input("x", {7, -1, 24})
        .output("y", {7, 1, -1, 32})
        .weight("w", {1, gates * 32, 24})
        .weight("r", {1, gates * 32, 32});
    m.node(op, {"x", "w", "r"}, {"y"});
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    EXPECT_TRUE(graph.ok()) << op << " " << graph.error().text();
  }
}

TEST(OnnxOptions, AProductThatIsAResultKeepsItsName) {
  Model m;
  m.input("x", {-1, 64}).output("y", {-1, 64}).output("h", {-1, 99}).weight("w", {64, 64}).weight("b", {64});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("output 'h': found dimension 1 of 99, expected 64"), std::string::npos);
}

std::string option_refusal(const Model& model) {
  const auto graph = parse_op_graph(model.text(), "m.onnx");
  return graph.ok() ? "" : graph.error().text();
}

constexpr int kBool = 9;

Model flagged_dropout(const std::string& flag, float ratio = 0.5F) {
  Model m = between_products("Dropout", {"ratio", "flag"});
  m.weight("ratio", {}).last_initializer().add_float_data(ratio);
  m.weight("flag", {}, kBool).last_initializer().set_raw_data(flag);
  return m;
}

TEST(OnnxOptions, DropoutOfTrainingAlone) {
  const auto dropouts = [](const Model& m) { return calls(parsed(m), "aten::native_dropout"); };
  const std::string yes(1, '\1'), no(1, '\0');
  EXPECT_EQ(dropouts(flagged_dropout(yes)), 1);
  EXPECT_EQ(dropouts(flagged_dropout(no)), 0);
  EXPECT_EQ(dropouts(between_products("Dropout")), 0);
  EXPECT_EQ(dropouts(between_products("Dropout").opset(9)), 1);
  Model old = between_products("Dropout").opset(6);
  EXPECT_EQ(dropouts(old), 1);
  Model::integer(*old.graph().mutable_node(1), "is_test", 1);
  EXPECT_EQ(dropouts(old), 0);
  for (const float ratio : {-7.5F, 1.0F}) {
    const std::string text = option_refusal(flagged_dropout(yes, ratio));
    EXPECT_NE(text.find("(Dropout): ratio: found "), text.npos) << text;
  }
  EXPECT_EQ(option_refusal(flagged_dropout(yes, 0)), "");
}

/// Writers leave zeros out, also where the default is another number.
TEST(OnnxOptions, AZeroThatIsLeftOutIsAZero) {
  constexpr std::int32_t kIntegerType = 2;  // AttributeProto.AttributeType
  for (const bool type_is_stated : {true, false}) {
    Model m;
    m.input("x", {-1, 8, 64}).output("y", {-1, 64}).weight("w", {64, 64}).numbers("axes", {1});
    m.node("MatMul", {"x", "w"}, {"h"});
    onnx::Attribute& a = *m.node("ReduceSum", {"h", "axes"}, {"y"}).add_attribute();
    a.set_name("keepdims");
    if (type_is_stated) a.set_type(kIntegerType);
    EXPECT_EQ(option_refusal(m), "");
    a.set_i(1);
    EXPECT_NE(option_refusal(m).find("output 'y': found 2 dimensions, expected 3"), std::string::npos);
  }
}

Model einsum(const std::string& equation, const std::vector<std::int64_t>& result) {
  Model m;
  m.input("x", {-1, 64, 32}).output("y", result).weight("w", {32, 48});
  Model::text(m.node("Einsum", {"x", "w"}, {"y"}), "equation", equation);
  return m;
}

TEST(OnnxOptions, EquationsGiveTheSizes) {
  EXPECT_EQ(option_refusal(einsum("bik,kj->bij", {-1, 64, 48})), "");
  EXPECT_EQ(option_refusal(einsum("b i k, k j", {-1, 64, 48})), "");
  EXPECT_EQ(option_refusal(einsum("bik,kj->bj", {})), "");
  EXPECT_EQ(option_refusal(einsum("...k,kj->...j", {-1, 64, 48})), "");
  const std::pair<Model, std::string> cases[] = {
      {einsum("bik,kj->bij", {-1, 64, 999}), "output 'y': found dimension 2 of 999, expected 48"},
      {einsum("bik,ij->bkj", {}), "expected one size of 'i', not 64 and 32"},
      {einsum("bik,kjl->bij", {}), "expected 2 letters for the dimensions of input 1"},
      {einsum("bik->bi", {}), "for 2 inputs, expected a term for each"},
      {einsum("bik,kj->bijz", {}), "expected a result of letters of the inputs, each once"},
  };
  for (const auto& [model, expected] : cases)
    EXPECT_NE(option_refusal(model).find(expected), std::string::npos) << option_refusal(model);
}

/// The node behind h, after a change.
Model changed(const std::string& op, const std::vector<std::string>& more,
              const std::vector<std::pair<std::string, std::int64_t>>& options) {
  Model m = between_products(op, more);
  m.numbers("one", {1}).numbers("axes", {1, -1}).numbers("zeros", {0, 0}).numbers("ends", {64, 32});
  m.weight("s", {64}).weight("b", {64}).weight("mean", {64});
  for (const auto& [name, value] : options) Model::integer(*m.graph().mutable_node(1), name, value);
  return m;
}

TEST(OnnxOptions, NodesHaveWhatTheyNeedAndNoMore) {
  const Model sound[] = {
      changed("BatchNormalization", {"s", "b", "mean", "mean"}, {}),
      changed("LayerNormalization", {"s"}, {}),
      changed("LayerNormalization", {"s", ""}, {}),
      changed("Clip", {"", ""}, {}),
      changed("Concat", {}, {{"axis", 1}}),
      changed("Concat", {}, {}).opset(3),
      changed("Flatten", {}, {{"axis", -1}}),
  };
  for (const Model& m : sound) EXPECT_EQ(option_refusal(m), "");
  const std::pair<Model, std::string> cases[] = {
      {changed("BatchNormalization", {"s", "b"}, {}), "(BatchNormalization): found no input 3, expected one"},
      {changed("LayerNormalization", {}, {}), "(LayerNormalization): found no input 1, expected one"},
      {changed("MatMul", {"w", "w"}, {}), "(MatMul): found 3 inputs, expected at most 2"},
      {changed("Relu", {"h"}, {}), "(Relu): found 2 inputs, expected at most 1"},
      {changed("Add", {"h", "h"}, {}), "(Add): found 3 inputs, expected at most 2"},
      {changed("Concat", {}, {}), "(Concat): attribute 'axis': found none, expected one"},
      {changed("DepthToSpace", {}, {}), "(DepthToSpace): attribute 'blocksize': found none, expected one"},
      {changed("Flatten", {}, {{"axis", 9}}), "(Flatten): found the axis 9 of a tensor with 2 dimensions"},
      {changed("Flatten", {}, {{"axis", -3}}), "(Flatten): found the axis -3 of a tensor with 2 dimensions"},
      {changed("ReduceSum", {"axes"}, {}), "(ReduceSum): axes: found 1 twice, expected once"},
      {changed("Slice", {"zeros", "ends", "axes"}, {}), "(Slice): axes: found 1 twice, expected once"},
  };
  for (const auto& [model, expected] : cases)
    EXPECT_NE(option_refusal(model).find(expected), std::string::npos) << expected << ": " << option_refusal(model);
}

TEST(OnnxOptions, FactorsHaveOneType) {
  constexpr int kHalfType = 10, kComplexType = 14;
  const auto product = [](int left, int right, const std::string& between) {
    Model m;
    m.input("x", {-1, 64}, left).output("y").weight("w", {64, 64}, right);
    if (!between.empty()) m.node(between, {"x"}, {"h"});
    m.node("MatMul", {between.empty() ? "x" : "h", "w"}, {"y"});
    return m;
  };
  EXPECT_EQ(option_refusal(product(kHalfType, kHalfType, "")), "");
  EXPECT_NE(option_refusal(product(kFloat, kHalfType, ""))
                .find("(MatMul): input 1 ('w'): found fp16, expected the fp32 of input 0"),
            std::string::npos);
  EXPECT_EQ(option_refusal(product(kFloat, kHalfType, "Relu")), "");  // its type is not stated
  EXPECT_NE(option_refusal(product(kComplexType, kComplexType, ""))
                .find("(MatMul): input 0 ('x'): found complex numbers, expected real ones"),
            std::string::npos);
}

/// Of more samples than any pass that tells the slope has: x[:100] of a batch of 64 is all of it.
TEST(OnnxOptions, ABoundFarAboveTheFirstBatchesIsNoLine) {
  const auto first = [](std::int64_t samples) {
    Model m = between_products("Slice", {"begin", "end", "axis"});
    m.numbers("begin", {0}).numbers("end", {samples}).numbers("axis", {0});
    return m;
  };
  for (const std::int64_t bound : {48, 100, 4096, 500'000}) {
    Model m = first(bound);
    m.graph().clear_output();
    m.output("y");
    EXPECT_NE(option_refusal(m).find("expected a model with a fixed batch"), std::string::npos) << bound;
  }
  EXPECT_EQ(option_refusal(first(std::numeric_limits<std::int64_t>::max())), "");
}

/// Nor where nothing that is made has the batch: a sum over the samples is as large of 100 as of all.
TEST(OnnxOptions, ABoundThatNoResultShowsIsNoLine) {
  for (const bool bounded : {true, false}) {
    Model m;
    m.input("x", {-1, 64}).output("y").weight("w", {64, 8});
    m.numbers("begin", {0})
        .numbers("end", {bounded ? 100 : std::numeric_limits<std::int64_t>::max()})
        .numbers("axis", {0});
    m.node("Slice", {"x", "begin", "end", "axis"}, {"first"});
    Model::list(m.node("Transpose", {"first"}, {"across"}), "perm", {1, 0});
    m.node("MatMul", {"across", "first"}, {"square"});
    m.node("MatMul", {"square", "w"}, {"y"});
    EXPECT_EQ(option_refusal(m).find("expected a model with a fixed batch") != std::string::npos, bounded);
  }
}

/// Sizes that a model computes from the table {{2, 3}, {4, 6}}; x is reshaped to them, and refused by any others.
TEST(OnnxOptions, SizesAreComputedAlongTheDimensionsThatAreAsked) {
  struct Case {
    std::string op;
    std::vector<std::vector<std::int64_t>> inputs;  ///< behind the table
    std::vector<std::int64_t> sizes;
    int keepdims = 0, opset = 18;
  };
  const std::vector<Case> cases{{"ReduceProd", {{1}}, {6, 24}},
                                {"ReduceSum", {{0}}, {6, 9}},
                                {"ReduceMax", {{-2}}, {4, 6}},
                                {"ReduceMin", {{0}}, {2, 3}},
                                {"ReduceMax", {{1}}, {3, 6}, 1},
                                {"ReduceSum", {{0, 1}}, {15}},
                                {"Slice", {{0, 1}, {2, 2}, {0, 1}}, {3, 6}},
                                {"Slice", {{1}, {9}, {1}}, {3, 6}},
                                {"Slice", {{-1}, {-9}, {0}, {-1}}, {4, 6, 2, 3}}};
  for (const Case& c : cases) {
    std::int64_t all = 1;
    std::vector<std::string> inputs{"table"};
    Model m;
    m.opset(c.opset);
    for (const std::int64_t n : c.sizes) all *= n;
    m.input("x", {-1, all}).output("y").weight("table", {2, 2}, kInt64);
    for (const std::int64_t n : {2, 3, 4, 6}) m.last_initializer().add_int64_data(n);
    for (const auto& numbers : c.inputs) {
      inputs.push_back("n" + std::to_string(inputs.size()));
      m.numbers(inputs.back(), numbers);
    }
    m.numbers("flat", {-1}).numbers("samples", {0}).weight("w", {c.sizes.back(), 8});
    onnx::Node& node = m.node(c.op, inputs, {"sizes"});
    if (c.op != "Slice") Model::integer(node, "keepdims", c.keepdims);
    m.node("Reshape", {"sizes", "flat"}, {"list"});
    Model::integer(m.node("Concat", {"samples", "list"}, {"shape"}), "axis", 0);
    m.node("Reshape", {"x", "shape"}, {"reshaped"});
    m.node("MatMul", {"reshaped", "w"}, {"y"});
    EXPECT_EQ(option_refusal(m), "") << c.op << " " << c.sizes.front();
  }
}

/// Nor is there anything to copy of a table without elements, however long it is; a step beyond the end leaves the first place.
TEST(OnnxOptions, SlicesOfEmptyTablesAndFarStepsAreSizes) {
  for (const std::int64_t axis : {0, 1}) {
    Model m;
    m.input("x", {-1, 8}).output("y").weight("table", {std::int64_t{1} << 40, 0}, kInt64).weight("w", {8, 8});
    m.numbers("begin", {0}).numbers("end", {5}).numbers("axis", {axis});
    m.node("Slice", {"table", "begin", "end", "axis"}, {"none"});
    m.node("MatMul", {"x", "w"}, {"y"});
    EXPECT_EQ(option_refusal(m), "") << axis;
  }
  Model m;
  m.input("x", {-1, 8}).output("y").numbers("sizes", {8, 3}).numbers("samples", {0}).weight("w", {8, 8});
  m.numbers("begin", {0}).numbers("end", {5}).numbers("axis", {0}).numbers("step", {std::int64_t{1} << 40});
  m.node("Slice", {"sizes", "begin", "end", "axis", "step"}, {"first"});
  Model::integer(m.node("Concat", {"samples", "first"}, {"shape"}), "axis", 0);
  m.node("Reshape", {"x", "shape"}, {"reshaped"});
  m.node("MatMul", {"reshaped", "w"}, {"y"});
  EXPECT_EQ(option_refusal(m), "");
}

/// ONNX's remainder has the sign of the divisor: -7 mod 4 is 1, and -3 by fmod.
TEST(OnnxOptions, ARemainderHasTheSignOfTheDivisor) {
  for (const bool as_fmod : {false, true}) {
    Model m;
    m.input("x", {-1, 8}).output("y").numbers("a", {-7}).numbers("b", {4}).numbers("samples", {0}).weight("w", {8, 8});
    Model::integer(m.node("Mod", {"a", "b"}, {"rest"}), "fmod", as_fmod ? 1 : 0);
    m.numbers("seven", {7}).numbers("eleven", {11}).node("Add", {"rest", as_fmod ? "eleven" : "seven"}, {"eight"});
    Model::integer(m.node("Concat", {"samples", "eight"}, {"shape"}), "axis", 0);
    m.node("Reshape", {"x", "shape"}, {"reshaped"});
    m.node("MatMul", {"reshaped", "w"}, {"y"});
    EXPECT_EQ(option_refusal(m), "") << as_fmod;
  }
}

}  // namespace
}  // namespace distsim::opgraph
