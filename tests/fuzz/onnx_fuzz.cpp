// ONNX models, with the kernels and the backward pass that they become.
#include "fuzz_target.hpp"
#include "sim/opgraph/kernels.hpp"

FUZZ_TARGET(onnx) {
  using namespace distsim;
  opgraph::GraphOptions options;
  options.dimensions["sequence"] = 7;
  const auto graph = opgraph::parse_op_graph(std::string(text), "fuzz.onnx", options);
  fuzz::check_answer(graph);
  if (!graph.ok()) return;
  const opgraph::Sizes sizes(*graph, 3);
  for (const opgraph::Node& node : graph->nodes) {
    if (!node.communication) opgraph::kernels_of(opgraph::Call(sizes, node));
  }
}
