// A model that is given as a graph of a framework's calls (sim/opgraph): captured, or recorded as a whole iteration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/opgraph/op_graph.hpp"

namespace distsim::workload {

struct GraphSpec {
  std::string file;
  std::string path;  ///< of the file, from where distsim runs
  opgraph::GraphOptions options;
  bool fuse = false;                              ///< chains of pointwise calls
  std::vector<std::string> checkpoint;            ///< modules that are run again in the backward pass
  std::string unread;                             ///< why it could not be read
  std::shared_ptr<const opgraph::OpGraph> graph;  ///< read with the key; null without it
};
/// Reads the file as it reads its name, which counts from the folder of the file that states it.
Schema<GraphSpec> graph_schema();

}  // namespace distsim::workload
