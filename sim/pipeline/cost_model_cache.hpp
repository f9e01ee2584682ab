// CostModelCache: cost models made once for predictions that differ only in model, batch or framework.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "collectives/collective_models.hpp"
#include "sim/pipeline/price.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::pipeline {

/// What the cost models of an experiment are made of. Files that these name are read when the models are made, and not
/// again.
struct CostModelInputs {
  topology::ClusterSpec cluster;
  topology::DeviceSpec device;
  collectives::CollectiveOptions collectives;
  bool operator==(const CostModelInputs&) const = default;
};

/// Keeps the models of the last few machines: op models by device, topology and collectives by cluster. A model always
/// gives the same answer, so that a kept one changes no prediction. May be used by several threads.
class CostModelCache {
 public:
  /// Errors: as Topology::build, op_models_of and CollectiveModels::create; nothing is kept of them.
  Result<std::shared_ptr<const CostModels>> models(const CostModelInputs& inputs);

 private:
  static constexpr std::size_t kKept = 16;
  struct Entry {
    CostModelInputs inputs;
    std::shared_ptr<const CostModels> models;
  };
  using Same = bool (*)(const CostModelInputs&, const CostModelInputs&);
  std::shared_ptr<const CostModels> find(const CostModelInputs& inputs, Same same);

  std::mutex mutex_;
  std::vector<Entry> entries_;  // least lately used first
};

/// The same without a cache.
Result<std::shared_ptr<const CostModels>> make_cost_models(const CostModelInputs& inputs);

}  // namespace distsim::pipeline
