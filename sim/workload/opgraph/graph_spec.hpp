// A model that is given as a graph of a framework's calls (sim/opgraph): captured, or recorded as a whole iteration.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/config/schema.hpp"
#include "sim/opgraph/op_graph.hpp"
#include "sim/workload/dlrm/dlrm_spec.hpp"

namespace distsim::workload {

/// How mixed precision is reached: casts around the calls that need another type (torch.autocast), or a model that is in
/// 16 bits itself, with fp32 master weights in the optimizer (apex O2, model.half(), FSDP's MixedPrecision).
enum class Amp : std::uint8_t { autocast, half };

/// Which embedding tables are split over ranks as `parallel` says; the others stay parameters like any.
struct GraphTables {
  bool all = false;                  ///< that are found
  std::vector<std::string> modules;  ///< else those of these modules
  bool any() const { return all || !modules.empty(); }
};

struct GraphSpec {
  std::string file;
  std::string path;  ///< of the file, from where distsim runs
  opgraph::GraphOptions options;
  bool fuse = false;                    ///< chains of pointwise calls
  std::vector<std::string> checkpoint;  ///< modules that are run again in the backward pass
  Amp amp = Amp::autocast;
  std::vector<std::string> units;  ///< modules whose weights are gathered together where they are split
  GraphTables tables;
  DlrmSpec embedding;                             ///< of the tables: skew, types and optimizer; no layers
  std::string unread;                             ///< why it could not be read
  std::shared_ptr<const opgraph::OpGraph> graph;  ///< read with the key; null without it
};
/// Reads the file as it reads its name, which counts from the folder of the file that states it.
Schema<GraphSpec> graph_schema();

}  // namespace distsim::workload
