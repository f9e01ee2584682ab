// A model that is given as a graph of a framework's calls (sim/opgraph): captured, or recorded as a whole iteration.
#pragma once

#include <memory>
#include <string>

#include "base/config/schema.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::workload {

struct GraphSpec {
  std::string file;
  std::shared_ptr<const opgraph::OpGraph> graph;  ///< read with the key; null without it
};
/// Reads the file as it reads its name, which counts from the folder of the file that states it.
Schema<GraphSpec> graph_schema();

}  // namespace distsim::workload
