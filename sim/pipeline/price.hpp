// price: TaskGraph -> CostedGraph. Every op gets its cost: compute from the op models, collectives from the collective
// models.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "collectives/collective_models.hpp"
#include "opmodels/op_models.hpp"
#include "sim/graph/costed_graph.hpp"
#include "topology/topology.hpp"

namespace distsim::pipeline {

/// The models of one cluster. Shared, const, safe to use from several threads.
struct CostModels {
  topology::Topology topology;
  opmodels::OpModels ops;
  collectives::CollectiveModels collectives;
};

/// Prices every op of the graph. A collective is priced for each distinct kind of group in its partition; the
/// dearest price is taken. An op that cannot be priced is an Error that names the task.
Result<graph::CostedGraph> price(graph::TaskGraph graph, std::shared_ptr<const CostModels> models);

/// Whether some collective takes longer than it would if no uplink of the fabric were ever full.
Result<bool> slowed_by_uplinks(const graph::TaskGraph& graph, const CostModels& models);

}  // namespace distsim::pipeline
