// Options of ONNX ops that change sizes or gradients.
#include <gtest/gtest.h>

#include <algorithm>

#include "onnx_models.hpp"

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

TEST(OnnxOptions, AProductThatIsAResultKeepsItsName) {
  Model m;
  m.input("x", {-1, 64}).output("y", {-1, 64}).output("h", {-1, 99}).weight("w", {64, 64}).weight("b", {64});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"y"});
  const auto graph = parse_op_graph(m.text(), "m.onnx");
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().text().find("output 'h': found dimension 1 of 99, expected 64"), std::string::npos);
}

}  // namespace
}  // namespace distsim::opgraph
