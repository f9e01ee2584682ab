// The learned correction of whole graphs, `model.correction: graph`: from files to a factor on kernels.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "opmodels/graph/graph_network.hpp"
#include "sim/config/config.hpp"

namespace distsim::pipeline {

/// Its name in a folder configs/op_models.
inline constexpr const char* kGraphCorrectionFile = "graph.correction";

/// How describe() begins where there is none.
inline constexpr std::string_view kNoCorrection = "no correction by the learned graph";

/// That of the first such folder that has one, read once a process. Errors: there is none; it is damaged.
Result<std::shared_ptr<const opmodels::GraphNetwork>> shipped_graph_network();

/// What the correction is told of an experiment: its iteration as it is priced, before any factor.
Result<opmodels::GraphFacts> graph_facts_of(const config::Experiment& experiment);

/// "kernel times x0.970 (learned graph, 60 measured iterations)", or that there is none for such a graph.
std::string describe(const opmodels::GraphNetwork& network, const opmodels::GraphNetwork::Answer& answer);

}  // namespace distsim::pipeline
