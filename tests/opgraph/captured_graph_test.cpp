// The format of docs/graph_format.md: what is read, and the one line for what is not.
#include <gtest/gtest.h>

#include "sim/opgraph/call.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::opgraph {
namespace {

const std::string kTensors =
    R"([{"shape":[[0,1],16],"dtype":"float32","role":"input","name":"x"},{"shape":[32,16],"dtype":"float32","role":"parameter","name":"fc.weight"},{"shape":[16,32],"dtype":"float32","storage":2},{"shape":[[0,1],32],"dtype":"float32"}])";
const std::string kNodes =
    R"([{"op":"aten::t","in":[{"t":1}],"out":[2]},{"op":"aten::mm","label":"fc","phase":"forward","in":[{"t":0},{"t":2}],"out":[3]}])";

std::string document(const std::string& tensors, const std::string& nodes, const std::string& more = "") {
  return R"({"format":"distsim graph","version":1,"name":"m","samples":8,"any_batch":true,"tensors":)" + tensors +
         R"(,"nodes":)" + nodes + more + "}";
}

std::string refusal(const std::string& text) {
  const auto graph = parse_op_graph(text, "m.graph");
  return graph.ok() ? "" : graph.error().text();
}

TEST(CapturedGraph, KeepsWhatLaunchesKernels) {
  const auto graph =
      parse_op_graph(document(kTensors, kNodes, R"(,"gradients":[{"parameter":1,"after":1}])"), "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_FALSE(graph->recorded);
  EXPECT_EQ(graph->samples, 8);
  ASSERT_EQ(graph->nodes.size(), 1u);  // the view is none
  EXPECT_EQ(graph->nodes[0].op, "aten::mm");
  EXPECT_EQ(graph->nodes[0].label, "fc");
  ASSERT_EQ(graph->gradients.size(), 1u);
  EXPECT_EQ(graph->gradients[0].after, 0u);
  EXPECT_EQ(Sizes(*graph, 8).dims(3), (Dims{8, 32}));
  EXPECT_EQ(Sizes(*graph, 100).dims(3), (Dims{100, 32}));
}

/// Operators that launch nothing go to the next kernel, those after the last one to that.
TEST(CapturedGraph, CountsOperatorsOfTheHost) {
  const auto graph = parse_op_graph(
      document(
          kTensors,
          R"([{"op":"aten::t","calls":2,"in":[{"t":1}],"out":[2]},{"op":"aten::mm","in":[{"t":0},{"t":2}],"out":[3]},)"
          R"({"op":"aten::view","calls":4,"in":[{"t":3}],"out":[3]}])"),
      "m.graph");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->nodes[0].calls, 2u + 1 + 4);
}

struct Broken {
  std::string text;
  std::vector<std::string> words;
};

TEST(CapturedGraph, RefusesInOneLineWithTheNode) {
  const Broken cases[] = {
      {"{}", {"m.graph", "another kind"}},
      {"{", {"no valid JSON"}},
      {std::string(200, '['), {"m.graph"}},
      {document("[]", "[]"), {"nodes", "none"}},
      {document(R"([{"shape":["s0"],"dtype":"float32"}])", "[]"), {"tensor 0", "s0", "dynamic dimension"}},
      {document(R"([{"dtype":"float32"}])", "[]"), {"tensor 0", "shape: missing"}},
      {document(R"([{"shape":[2],"dtype":"float33"}])", "[]"), {"tensor 0", "float33"}},
      {document(R"([{"shape":[-2],"dtype":"float32"}])", "[]"), {"tensor 0", "-2"}},
      {document(kTensors, R"([{"op":"aten::mm","in":[{"t":0},{"t":9}],"out":[3]}])"), {"node 0 (aten::mm)", "0 .. 3"}},
      {document(kTensors,
                R"([{"op":"aten::mm","in":[{"t":0},{"t":3}],"out":[2]},{"op":"aten::t","in":[{"t":2}],"out":[3]}])"),
       {"node 0 (aten::mm)", "cycles"}},
      {document(kTensors, R"([{"op":"aten::mm","phase":"sideways","in":[],"out":[]}])"), {"node 0", "sideways"}},
      {document(kTensors, kNodes, R"(,"gradients":[{"parameter":0,"after":0}])"), {"gradient 0", "another role"}},
      {document(kTensors, R"([{"op":"aten::mm","calls":-1,"in":[{"t":0},{"t":1}],"out":[3]}])"),
       {"node 0", "calls", "-1"}},
      {R"({"format":"distsim graph","version":2})", {"version", "expected 1"}},
  };
  for (const Broken& broken : cases) {
    const std::string text = refusal(broken.text);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    for (const std::string& word : broken.words) EXPECT_NE(text.find(word), std::string::npos) << word << ": " << text;
  }
}

TEST(CapturedGraph, EveryBeginningIsRefused) {
  const std::string whole = document(kTensors, kNodes);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace distsim::opgraph
