// price: TaskGraph -> CostedGraph. Every op gets its cost: compute from the op models, collectives from the collective
// models.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/result.hpp"
#include "collectives/collective_models.hpp"
#include "opmodels/op_models.hpp"
#include "sim/graph/costed_graph.hpp"
#include "sim/graph/op_key.hpp"
#include "topology/topology.hpp"

namespace distsim::pipeline {

/// Prices of ops by the models of one device, each worked out once as long as there are not too many. Safe to share
/// between threads.
class OpPrices {
 public:
  Result<graph::Cost> of(const graph::Op& op, const opmodels::OpModels& models);

 private:
  std::mutex mutex_;
  std::unordered_map<graph::OpKey, graph::Cost, graph::OpKeyHash> known_;
};

/// The models of one cluster. Shared, const, safe to use from several threads.
struct CostModels {
  topology::Topology topology;
  opmodels::OpModels ops;
  collectives::CollectiveModels collectives;
  std::shared_ptr<OpPrices> op_prices = std::make_shared<OpPrices>();  ///< by `ops`
};

/// Prices every op of the graph. A collective is priced for each distinct kind of group in its partition; the
/// dearest price is taken. An op that cannot be priced is an Error that names the task.
Result<graph::CostedGraph> price(graph::TaskGraph graph, std::shared_ptr<const CostModels> models);

/// Whether some collective takes longer than it would if no uplink of the fabric were ever full.
Result<bool> slowed_by_uplinks(const graph::TaskGraph& graph, const CostModels& models);

}  // namespace distsim::pipeline
