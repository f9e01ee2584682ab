// Network remarks: what a user should know of the network that he described: what caps it, and which of his settings
// change nothing for this job.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "sim/config/config.hpp"
#include "sim/graph/assumption.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/pipeline/price.hpp"

namespace distsim::pipeline {

/// One line each, for
///   - NICs that PCIe is too slow for;
///   - settings of the experiment (not of the system that it names) that change nothing: an oversubscription where all
///     nodes are under one leaf (or pod) or where no collective fills the uplinks, loaded uplinks that are not used,
///     NICs and fabric of a job without traffic between nodes.
Result<std::vector<graph::Assumption>> network_remarks(const config::Experiment& experiment,
                                                       const graph::TaskGraph& graph, const CostModels& models);

}  // namespace distsim::pipeline
