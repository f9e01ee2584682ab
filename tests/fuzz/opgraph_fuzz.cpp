// Graphs of calls: distsim graphs and execution traces, with the kernels that they become.
#include "fuzz_target.hpp"
#include "sim/opgraph/kernels.hpp"

FUZZ_TARGET(opgraph) {
  using namespace distsim;
  const auto graph = opgraph::parse_op_graph(std::string(text), "fuzz.graph");
  fuzz::check_answer(graph);
  if (!graph.ok()) return;
  const opgraph::Sizes sizes(*graph, 3);
  for (const opgraph::Node& node : graph->nodes) {
    if (!node.communication) opgraph::kernels_of(opgraph::Call(sizes, node));
  }
}
