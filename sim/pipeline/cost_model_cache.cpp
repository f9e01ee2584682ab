#include "sim/pipeline/cost_model_cache.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/passes/verify.hpp"

namespace distsim::pipeline {

Result<std::shared_ptr<const CostModels>> make_cost_models(const CostModelInputs& inputs) {
  TRY_ASSIGN(topology::Topology topology, topology::Topology::build(inputs.cluster, inputs.device.compute_capability));
  const Result<void> invariants = verify(topology);
  CHECK(invariants.ok()) << invariants.error().text();
  TRY_ASSIGN(opmodels::OpModels ops, op_models_of(inputs.device));
  TRY_ASSIGN(collectives::CollectiveModels collectives,
             collectives::CollectiveModels::create(topology, inputs.collectives));
  return std::shared_ptr<const CostModels>(
      std::make_shared<CostModels>(CostModels{std::move(topology), std::move(ops), std::move(collectives)}));
}

std::shared_ptr<const CostModels> CostModelCache::find(const CostModelInputs& inputs) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.inputs == inputs; });
  if (it == entries_.end()) return nullptr;
  std::rotate(it, it + 1, entries_.end());
  return entries_.back().models;
}

Result<std::shared_ptr<const CostModels>> CostModelCache::models(CostModelInputs inputs) {
  if (auto kept = find(inputs)) {
    log_debug([&] { return "cost models of " + inputs.cluster.name + ": kept from an earlier prediction"; });
    return kept;
  }
  log_debug([&] { return "cost models of " + inputs.cluster.name + ": made"; });
  TRY_ASSIGN(auto made, make_cost_models(inputs));
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kKept) entries_.erase(entries_.begin());
  entries_.push_back({std::move(inputs), made});
  return made;
}

}  // namespace distsim::pipeline
