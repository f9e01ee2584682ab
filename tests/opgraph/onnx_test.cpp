// ONNX models: what becomes of them, forward and backward, and the one line for what cannot be read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "onnx_models.hpp"
#include "sim/opgraph/call.hpp"
#include "sim/opgraph/kernels.hpp"

namespace distsim::opgraph {
namespace {

std::size_t count_of(const OpGraph& graph, std::string_view op, graph::Phase phase) {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes, [&](const Node& n) { return base_name(n.op) == op && n.phase == phase; }));
}

double product_flops(const OpGraph& graph, std::int64_t samples, graph::Phase phase) {
  const Sizes sizes(graph, samples);
  double sum = 0;
  for (const Node& node : graph.nodes) {
    for (const graph::Op& op : kernels_of(Call(sizes, node)).ops) {
      const bool product = std::holds_alternative<graph::Gemm>(op) || std::holds_alternative<graph::Conv2d>(op);
      sum += product && node.phase == phase ? graph::flops_of(op) : 0;
    }
  }
  return sum;
}

template <class Set>
GraphOptions with(Set set) {
  GraphOptions options;
  set(options);
  return options;
}

constexpr auto kForward = graph::Phase::forward, kBackward = graph::Phase::backward;

TEST(Onnx, LinearLayersWithTheirGradients) {
  const auto graph = parse_op_graph(two_layers().text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->format, "ONNX");
  EXPECT_TRUE(graph->any_batch);
  EXPECT_EQ(count_of(*graph, "addmm", kForward), 2u);  // the row is added in the product
  EXPECT_EQ(count_of(*graph, "mm", kBackward), 3u);    // the input has no gradient
  EXPECT_EQ(count_of(*graph, "threshold_backward", kBackward), 1u);
  EXPECT_EQ(count_of(*graph, "sum", kBackward), 2u);
  std::vector<std::string> names;
  for (const Gradient& g : graph->gradients) names.push_back(graph->tensors[g.parameter].name);
  ASSERT_EQ(names.size(), 4u);
  EXPECT_TRUE(names[0] == "b" || names[0] == "c") << names[0];  // of the last layer first
  for (const std::int64_t n : {1, 64, 1000}) {
    EXPECT_DOUBLE_EQ(product_flops(*graph, n, kForward), 2.0 * static_cast<double>(n) * (16 * 32 + 32 * 10));
    EXPECT_DOUBLE_EQ(product_flops(*graph, n, kBackward), 2.0 * static_cast<double>(n) * (16 * 32 + 2 * 32 * 10));
  }
}

TEST(Onnx, ForwardAloneHasNoBackward) {
  const auto graph =
      parse_op_graph(two_layers().text(), "m.onnx", with([](GraphOptions& o) { o.forward_only = true; }));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_TRUE(graph->gradients.empty());
  EXPECT_EQ(product_flops(*graph, 8, kBackward), 0);
}

TEST(Onnx, CrossEntropyStartsTheBackwardPass) {
  const auto graph =
      parse_op_graph(two_layers().text(), "m.onnx", with([](GraphOptions& o) { o.cross_entropy = true; }));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(count_of(*graph, "_log_softmax", kForward), 1u);
  EXPECT_EQ(count_of(*graph, "nll_loss_backward", kBackward), 1u);
}

TEST(Onnx, Convolution) {
  Model m;
  m.input("x", {-1, 3, 32, 32}).output("y").weight("f", {8, 3, 3, 3}).weight("s", {8}).weight("o", {8});
  m.weight("mean", {8}).weight("var", {8});
  onnx::Node& conv = m.node("Conv", {"x", "f"}, {"c"});
  Model::list(conv, "strides", {2, 2}), Model::list(conv, "pads", {1, 1, 1, 1});
  m.node("BatchNormalization", {"c", "s", "o", "mean", "var"}, {"n"});
  m.node("GlobalAveragePool", {"n"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->gradients.size(), 3u);  // running means and variances are not trained
  EXPECT_DOUBLE_EQ(product_flops(*graph, 5, kForward), 2.0 * 5 * 16 * 16 * 8 * 27);
  EXPECT_DOUBLE_EQ(product_flops(*graph, 5, kBackward), 2.0 * 5 * 16 * 16 * 8 * 27);
}

/// Sizes that the model computes from its input: Reshape to (batch, heads, ...).
TEST(Onnx, ShapesAreComputed) {
  Model m;
  m.input("x", {-1, -2, 64}).output("y").numbers("zero", {0}).numbers("rest", {-1, 4, 16}).weight("w", {64, 64});
  m.node("MatMul", {"x", "w"}, {"q"});
  m.node("Shape", {"q"}, {"shape"});
  Model::integer(m.node("Gather", {"shape", "zero"}, {"batch"}), "axis", 0);
  Model::integer(m.node("Concat", {"batch", "rest"}, {"sizes"}), "axis", 0);
  m.node("Reshape", {"q", "sizes"}, {"r"});
  Model::list(m.node("Transpose", {"r"}, {"heads"}), "perm", {0, 2, 1, 3});
  Model::list(m.node("Transpose", {"r"}, {"keys"}), "perm", {0, 2, 3, 1});
  m.node("MatMul", {"heads", "keys"}, {"scores"});
  m.node("Softmax", {"scores"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx", with([](GraphOptions& o) { o.dimensions["sequence"] = 20; }));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_DOUBLE_EQ(product_flops(*graph, 3, kForward), 2.0 * 3 * (20 * 64 * 64 + 4 * 20 * 20 * 16));
  EXPECT_EQ(count_of(*graph, "clone", kForward), 2u);  // batch and heads of a transposed tensor cannot be one dimension
  EXPECT_EQ(count_of(*graph, "bmm", kBackward), 2u);
}

/// A tensor that is read twice: its gradients are added.
TEST(Onnx, GradientsOfSharedWeightsAreAdded) {
  Model m;
  m.input("x", {-1, 8}).output("y").weight("w", {8, 8});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("MatMul", {"h", "w"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->gradients.size(), 1u);
  EXPECT_EQ(count_of(*graph, "add", kBackward), 1u);
  EXPECT_EQ(base_name(graph->nodes[graph->gradients[0].after].op), "add");
}

TEST(Onnx, UnknownOpsAreCountedWithStatedSizes) {
  Model m = two_layers();
  m.node("Magic", {"z"}, {"w"}).set_domain("com.example");
  m.states("w", {-1, 10});
  m.graph().clear_output();
  m.output("w");
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(listing_of("com.example::Magic"), Listing::unlisted);
  EXPECT_EQ(count_of(*graph, "com.example::Magic", kForward), 1u);
  EXPECT_EQ(count_of(*graph, "com.example::Magic backward", kBackward), 1u);
}

/// A linear layer, and its layer normalisation as PyTorch exports it below opset 17.
Model written_out_norm(float exponent = 2, std::int64_t opset = 13) {
  Model m;
  m.opset(opset).input("x", {-1, 5, 16}).output("y").weight("w", {16, 32}).weight("scale", {32}).weight("shift", {32});
  m.node("MatMul", {"x", "w"}, {"p"});
  Model::list(m.node("ReduceMean", {"p"}, {"mean"}), "axes", {-1});
  m.node("Sub", {"p", "mean"}, {"centred"});
  m.constant("two", exponent).node("Pow", {"centred", "two"}, {"square"});
  Model::list(m.node("ReduceMean", {"square"}, {"variance"}), "axes", {-1});
  m.constant("epsilon", 1e-5F).node("Add", {"variance", "epsilon"}, {"sum"});
  m.node("Sqrt", {"sum"}, {"root"});
  m.node("Div", {"centred", "root"}, {"normed"});
  m.node("Mul", {"normed", "scale"}, {"scaled"});
  m.node("Add", {"scaled", "shift"}, {"y"});
  return m;
}

TEST(Onnx, NormsThatExportersWriteOutAreOneCall) {
  const auto graph = parse_op_graph(written_out_norm().text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(count_of(*graph, "native_layer_norm", kForward), 1u);
  EXPECT_EQ(count_of(*graph, "native_layer_norm_backward", kBackward), 1u);
  EXPECT_EQ(graph->gradients.size(), 3u);
  for (const char* op : {"mean", "sub", "pow", "add", "sqrt", "div", "mul"})
    EXPECT_EQ(count_of(*graph, op, kForward), 0u);
  ASSERT_EQ(graph->remarks.size(), 1u);
  EXPECT_EQ(
      graph->remarks[0],
      "1 layer normalisation written out as exporters do below opset 17 taken as the one kernel that PyTorch runs");

  // The same calls and sizes as those of the op that opset 17 has.
  Model m;
  m.input("x", {-1, 5, 16}).output("y").weight("w", {16, 32}).weight("scale", {32}).weight("shift", {32});
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("LayerNormalization", {"p", "scale", "shift"}, {"y"});
  const auto op = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(op.ok()) << op.error().text();
  ASSERT_EQ(op->nodes.size(), graph->nodes.size());
  for (std::size_t i = 0; i < op->nodes.size(); ++i) {
    EXPECT_EQ(op->nodes[i].op, graph->nodes[i].op) << i;
    EXPECT_DOUBLE_EQ(Call(Sizes(*op, 7), op->nodes[i]).written_bytes(),
                     Call(Sizes(*graph, 7), graph->nodes[i]).written_bytes());
  }
}

/// A norm without its trained rows, and one whose rows something else reads as well, which is no part of it.
TEST(Onnx, PartsOfWrittenOutNorms) {
  Model bare = written_out_norm();
  bare.graph().mutable_node()->DeleteSubrange(10, 2);  // the rows
  bare.node("Relu", {"normed"}, {"y"});
  Model branch = written_out_norm();
  branch.output("exp").node("Exp", {"normed"}, {"exp"});
  for (const Model& m : {bare, branch}) {
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_EQ(count_of(*graph, "native_layer_norm", kForward), 1u);
    EXPECT_EQ(count_of(*graph, "sub", kForward), 0u);
  }
  const auto graph = parse_op_graph(branch.text(), "m.onnx");
  EXPECT_EQ(count_of(*graph, "mul", kForward), 1u);
  EXPECT_EQ(count_of(*graph, "add", kForward), 2u);  // and the sum of both outputs, of which the loss is made
}

/// What is not that call stays what it is: every node is priced.
TEST(Onnx, WhatOnlyLooksLikeANormIsNone) {
  std::vector<Model> models{written_out_norm(3), written_out_norm(2, 17)};
  for (const char* also_read : {"mean", "centred", "square", "variance", "sum", "root"}) {
    models.push_back(written_out_norm());
    models.back().output(also_read);
    models.push_back(written_out_norm());
    models.back().output("more").node("Exp", {also_read}, {"more"});
  }
  models.push_back(written_out_norm());
  models.back().graph().mutable_node(8)->set_op_type("Exp");  // instead of the root
  for (const Model& m : models) {
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_EQ(count_of(*graph, "native_layer_norm", kForward), 0u);
    EXPECT_EQ(count_of(*graph, "mean", kForward), 2u);
    EXPECT_EQ(count_of(*graph, "sub", kForward), 1u);
    EXPECT_EQ(count_of(*graph, "mul", kForward), 1u);
  }
}

Model written_out_gelu(float root, float half, bool by_tanh) {
  Model m;
  m.opset(13).input("x", {-1, 16}).output("y").weight("w", {16, 32});
  m.node("MatMul", {"x", "w"}, {"p"});
  if (by_tanh) {
    m.node("Mul", {"p", "p"}, {"square"});
    m.node("Mul", {"p", "square"}, {"cube"});
    m.constant("k", 0.044715F).node("Mul", {"k", "cube"}, {"little"});
    m.node("Add", {"p", "little"}, {"sum"});
    m.constant("beta", root).node("Mul", {"beta", "sum"}, {"inner"});
    m.node("Tanh", {"inner"}, {"e"});
  } else {
    m.constant("root", root).node("Div", {"p", "root"}, {"inner"});
    m.node("Erf", {"inner"}, {"e"});
  }
  m.constant("one", 1).node("Add", {"e", "one"}, {"s"});
  m.node("Mul", {"p", "s"}, {"product"});
  m.constant("half", half).node("Mul", {"product", "half"}, {"y"});
  return m;
}

TEST(Onnx, GeluThatExportersWriteOutIsOneCall) {
  for (const bool by_tanh : {false, true}) {
    const float root = by_tanh ? 0.7978846F : 1.4142135F;
    const auto gelus = [](const Model& m) {
      const auto graph = parse_op_graph(m.text(), "m.onnx");
      EXPECT_TRUE(graph.ok()) << graph.error().text();
      return count_of(*graph, "gelu", kForward) * 100 + graph->nodes.size();
    };
    EXPECT_EQ(gelus(written_out_gelu(root, 0.5F, by_tanh)) / 100, 1u);
    EXPECT_EQ(gelus(written_out_gelu(1.0F, 0.5F, by_tanh)) / 100, 0u);
    EXPECT_EQ(gelus(written_out_gelu(root, 2.0F, by_tanh)) / 100, 0u);
    Model read = written_out_gelu(root, 0.5F, by_tanh);
    read.output("e");
    EXPECT_EQ(gelus(read) / 100, 0u);
    EXPECT_GT(gelus(read), gelus(written_out_gelu(root, 0.5F, by_tanh)) % 100 + 4);
  }
}

/// x[:, i, j] as it is exported: the indexed dimensions moved to the front and made one. PyTorch reads the places where they lie, and
/// adds up the gradient in the order of the places.
TEST(Onnx, IndexingReadsInPlace) {
  Model m;
  m.input("x", {-1, 16}).output("y").weight("w", {16, 81}).numbers("sizes", {-1, 9, 9}).numbers("back", {36, -1});
  m.weight("places", {36}, kInt64);
  for (int i = 0; i < 36; ++i) m.last_initializer().add_int64_data(i);
  m.node("MatMul", {"x", "w"}, {"p"});
  m.node("Reshape", {"p", "sizes"}, {"pairs"});
  Model::list(m.node("Transpose", {"pairs"}, {"t"}), "perm", {1, 2, 0});
  Model::integer(m.node("Flatten", {"t"}, {"flat"}), "axis", 2);
  Model::integer(m.node("Gather", {"flat", "places"}, {"g"}), "axis", 0);
  m.node("Reshape", {"g", "back"}, {"r"});
  Model::list(m.node("Transpose", {"r"}, {"s"}), "perm", {1, 0});
  m.node("Exp", {"s"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(count_of(*graph, "clone", kForward), 0u);
  EXPECT_EQ(count_of(*graph, "index", kForward), 1u);
  EXPECT_EQ(count_of(*graph, "index_put_", kBackward), 1u);
  EXPECT_EQ(count_of(*graph, "scatter_add_", kBackward), 0u);
  const Sizes sizes(*graph, 100);
  const auto index = std::ranges::find_if(graph->nodes, [](const Node& n) { return base_name(n.op) == "index"; });
  EXPECT_EQ(sizes.dims(index->outputs.front()), (Dims{100, 36}));
  EXPECT_EQ(sizes.dims(index->inputs.front().tensors.front()), (Dims{100, 9, 9}));
  // Somebody else reads the flat tensor as well: rows of it are gathered.
  m.output("more").node("Tanh", {"flat"}, {"more"});
  const auto copied = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(copied.ok()) << copied.error().text();
  const auto gathered = std::ranges::find_if(copied->nodes, [](const Node& n) { return base_name(n.op) == "index"; });
  ASSERT_NE(gathered, copied->nodes.end());
  EXPECT_EQ(Sizes(*copied, 100).dims(gathered->outputs.front()), (Dims{36, 100}));
}

struct Refused {
  Model model;
  std::vector<std::string> words;
};

/// The sum of all outputs that depend on a parameter; a cross entropy is that of the first, and the others are named.
TEST(Onnx, OutputsThatTheLossFollowsFrom) {
  Model m = two_layers();
  m.output("second").weight("d", {32, 4});
  m.node("MatMul", {"y", "d"}, {"second"});
  const auto sum = parse_op_graph(m.text(), "m.onnx");
  ASSERT_TRUE(sum.ok()) << sum.error().text();
  EXPECT_TRUE(sum->remarks.empty());
  EXPECT_EQ(sum->gradients.size(), 5u);
  EXPECT_EQ(count_of(*sum, "sum", kForward), 2u);
  const auto scores = parse_op_graph(m.text(), "m.onnx", with([](GraphOptions& o) { o.cross_entropy = true; }));
  ASSERT_TRUE(scores.ok()) << scores.error().text();
  EXPECT_EQ(scores->gradients.size(), 4u);
  ASSERT_EQ(scores->remarks.size(), 1u);
  EXPECT_EQ(scores->remarks[0], "the loss is the cross entropy of output 'z'; not of 'second'");
}

/// A weight that is transposed for its product has its gradient in its own order, as PyTorch computes it.
/// torch.flip is exported as slices with steps of -1: one copy of all of it, forward and backward.
TEST(Onnx, SlicesBackwardsAreCopies) {
  const auto copies = [](const std::vector<std::int64_t>& axes, std::int64_t step) {
    const std::size_t n = axes.size();
    Model m;
    m.input("x", {-1, 16, 32}).output("y").weight("w", {32});
    m.numbers("begin", std::vector<std::int64_t>(n, step < 0 ? -1 : 0));
    m.numbers("end", std::vector<std::int64_t>(n, step < 0 ? -INT64_MAX : INT64_MAX));
    m.numbers("axes", axes).numbers("steps", std::vector<std::int64_t>(n, step));
    m.node("Mul", {"x", "w"}, {"h"});
    m.node("Slice", {"h", "begin", "end", "axes", "steps"}, {"s"});
    m.node("Relu", {"s"}, {"y"});
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return std::array{count_of(*graph, "flip", kForward), count_of(*graph, "flip", kBackward),
                      count_of(*graph, "slice_backward", kBackward)};
  };
  EXPECT_EQ(copies({2}, 1), (std::array<std::size_t, 3>{0, 0, 0}));
  EXPECT_EQ(copies({2}, -1), (std::array<std::size_t, 3>{1, 1, 0}));
  EXPECT_EQ(copies({1, 2}, -1), (std::array<std::size_t, 3>{1, 1, 0}));
  EXPECT_EQ(copies({2}, -2), (std::array<std::size_t, 3>{1, 1, 1}));
  EXPECT_EQ(copies({2}, 2), (std::array<std::size_t, 3>{0, 0, 1}));
}

/// Every other column has gaps in both directions, which BLAS does not read; the first half of them has not.
TEST(Onnx, ProductsOfEveryOtherColumnCopyThemFirst) {
  const auto copies = [](std::int64_t end, std::int64_t step) {
    Model m;
    m.input("x", {-1, 64}).output("y").weight("w", {32, 8});
    m.numbers("begin", {0}).numbers("end", {end}).numbers("axes", {1}).numbers("steps", {step});
    m.node("Slice", {"x", "begin", "end", "axes", "steps"}, {"s"});
    m.node("MatMul", {"s", "w"}, {"y"});
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    EXPECT_TRUE(graph.ok()) << graph.error().text();
    return std::array{count_of(*graph, "clone", kForward), count_of(*graph, "clone", kBackward)};
  };
  EXPECT_EQ(copies(32, 1), (std::array<std::size_t, 2>{0, 0}));
  EXPECT_EQ(copies(64, 2), (std::array<std::size_t, 2>{1, 1}));
}

TEST(Onnx, GradientsOfTransposedWeights) {
  for (const bool transposed : {false, true}) {
    Model m;
    m.input("x", {-1, 24})
        .output("y")
        .weight("w", transposed ? std::vector<std::int64_t>{40, 24} : std::vector<std::int64_t>{24, 40});
    if (transposed) Model::list(m.node("Transpose", {"w"}, {"t"}), "perm", {1, 0});
    m.node("MatMul", {"x", transposed ? "t" : "w"}, {"y"});
    const auto graph = parse_op_graph(m.text(), "m.onnx");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const Sizes sizes(*graph, 8);
    const auto gradient = std::ranges::find_if(
        graph->nodes, [](const Node& n) { return base_name(n.op) == "mm" && n.phase == kBackward; });
    ASSERT_NE(gradient, graph->nodes.end());
    const auto op = std::get<graph::Gemm>(kernels_of(Call(sizes, *gradient)).ops.front());
    EXPECT_EQ(op.m, transposed ? 40 : 24);
    EXPECT_EQ(op.n, transposed ? 24 : 40);
    EXPECT_EQ(op.k, 8);
  }
}

TEST(Onnx, RefusesInOneLineWithTheNode) {
  std::vector<Refused> cases;
  const auto add = [&](Model m, std::vector<std::string> words) { cases.push_back({std::move(m), std::move(words)}); };
  Model cycle = two_layers();
  cycle.graph().mutable_node(0)->set_input(0, "y");
  add(cycle, {"/p/MatMul", "'y'", "cycles"});
  Model absent = two_layers();
  absent.graph().mutable_node(2)->set_input(0, "nowhere");
  add(absent, {"/y/Relu", "'nowhere'", "nothing makes"});
  Model dynamic;
  dynamic.input("x", {-1, -2}).output("y");
  dynamic.node("Relu", {"x"}, {"y"});
  add(dynamic, {"input 'x'", "'sequence'", "dynamic", "model.graph.dimensions"});
  Model type;
  type.input("x", {2}, 8).output("y");
  type.node("Relu", {"x"}, {"y"});
  add(type, {"type 8"});
  Model unknown = two_layers();
  unknown.node("Magic", {"z"}, {"w"}).set_domain("com.example");
  add(unknown, {"/w/Magic", "value_info"});
  Model loop = two_layers();
  onnx::Attribute& body = *loop.node("Loop", {"z"}, {"w"}).add_attribute();
  body.set_name("body"), body.mutable_g();
  add(loop, {"/w/Loop", "graph inside"});
  Model external;
  external.input("x", {4, 6}).output("y").numbers("sizes", {2, 12});
  external.last_initializer().clear_int64_data();
  external.last_initializer().set_data_location(1);
  external.node("Reshape", {"x", "sizes"}, {"y"});
  add(external, {"/y/Reshape", "'sizes'", "another file"});
  Model inner = two_layers();
  inner.graph().mutable_initializer(0)->set_dims(0, 15);
  add(inner, {"/p/MatMul", "16", "15"});
  Model huge = two_layers();
  huge.graph().mutable_initializer(0)->set_dims(1, std::int64_t{1} << 60);
  add(huge, {"2^48"});
  Model negative;
  negative.input("x", {4, 6}).output("y").numbers("sizes", {-7, 12});
  negative.node("Reshape", {"x", "sizes"}, {"y"});
  add(negative, {"/y/Reshape", "-7"});
  Model pairs;  // batch x batch, in one dimension
  pairs.input("x", {-1, 6}).output("y").numbers("sizes", {-1});
  pairs.node("Transpose", {"x"}, {"t"});
  pairs.node("MatMul", {"x", "t"}, {"p"});
  pairs.node("Reshape", {"p", "sizes"}, {"r"});
  pairs.node("Exp", {"r"}, {"y"});
  add(pairs, {"node ", "4, 16 and 4096 with 2, 4 and 64 samples", "expected a model with a fixed batch"});
  for (const std::string op : {"Shape", "Gather", "Expand", "ConstantOfShape", "MatMul", "Reshape", "Conv"}) {
    Model bare;
    bare.input("x", {4, 6}).output("y");
    bare.node(op, {}, {"y"});
    add(bare, {"/y/" + op, "no input"});
  }
  Model empty;
  empty.input("x", {1}).output("y");
  add(empty, {"no nodes"});
  for (const Refused& refused : cases) {
    const auto graph = parse_op_graph(refused.model.text(), "m.onnx");
    ASSERT_FALSE(graph.ok()) << refused.words.front();
    const std::string text = graph.error().text();
    EXPECT_EQ(text.find('\n'), text.npos) << text;
    for (const std::string& word : refused.words) EXPECT_NE(text.find(word), text.npos) << word << ": " << text;
  }
}

TEST(Onnx, StatedSizesThatNobodyMakesAreNamed) {
  const auto remarks = [](Model model) {
    const auto graph = parse_op_graph(model.text(), "m.onnx");
    return graph.ok() ? graph->remarks : std::vector<std::string>{graph.error().text()};
  };
  Model right = two_layers(), wrong = two_layers();
  EXPECT_TRUE(remarks(right.states("y", {-1, 32})).empty());
  const auto found = remarks(wrong.states("y", {-1, 99}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0],
            "value_info 'y': found dimension 1 of 99, expected 32, which its node makes; what is stated is not used");
}

TEST(Onnx, EveryBeginningIsRefusedOrSmaller) {
  const std::string whole = two_layers().text();
  const auto all = parse_op_graph(whole, "m.onnx");
  ASSERT_TRUE(all.ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = parse_op_graph(whole.substr(0, size), "m.onnx");
    if (!part.ok()) continue;
    EXPECT_LE(part->nodes.size(), all->nodes.size()) << size;
  }
}

}  // namespace
}  // namespace distsim::opgraph
