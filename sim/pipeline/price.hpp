// price: TaskGraph -> CostedGraph. Every op gets its cost: compute from the op models, collectives from the collective
// models.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

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

struct CostModels;

/// Prices of collectives over the groups of one cluster, each worked out once as long as there are not too many. Safe to
/// share between threads.
class GroupPrices {
 public:
  /// The groups of a partition that can differ from each other.
  class Groups {
   public:
    explicit Groups(std::vector<topology::GroupFacts> facts) : facts_(std::move(facts)) {}
    /// The dearest of them, once.
    Result<graph::Cost> of(const graph::Collective& op, const collectives::CollectiveModels& models);
    const std::vector<topology::GroupFacts>& facts() const { return facts_; }

   private:
    using Key = std::tuple<graph::CollectiveKind, graph::DType, std::int64_t>;  ///< with the bytes
    const std::vector<topology::GroupFacts> facts_;
    std::mutex mutex_;
    std::map<Key, graph::Cost> known_;
  };
  std::shared_ptr<Groups> of(const graph::Partition& partition, std::uint32_t ranks, const topology::Topology& topology,
                             const topology::FabricUse& use = {});

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::uint32_t, topology::FabricUse, graph::Partition>, std::shared_ptr<Groups>> known_;
};

/// The models of one cluster. Shared, const, safe to use from several threads.
struct CostModels {
  topology::Topology topology;
  opmodels::OpModels ops;
  collectives::CollectiveModels collectives;
  std::shared_ptr<OpPrices> op_prices = std::make_shared<OpPrices>();           ///< by `ops`
  std::shared_ptr<GroupPrices> group_prices = std::make_shared<GroupPrices>();  ///< by `topology` and `collectives`
};

/// Prices every op of the graph. A collective is priced for each distinct kind of group in its partition; the
/// dearest price is taken. An op that cannot be priced is an Error that names the task.
Result<graph::CostedGraph> price(graph::TaskGraph graph, std::shared_ptr<const CostModels> models);

/// Whether some collective takes longer than it would if no uplink of the fabric were ever full.
Result<bool> slowed_by_uplinks(const graph::TaskGraph& graph, const CostModels& models);

}  // namespace distsim::pipeline
