#include "sim/pipeline/cost_model_cache.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/passes/verify.hpp"

namespace distsim::pipeline {

namespace {

bool same_machine(const CostModelInputs& a, const CostModelInputs& b) { return a == b; }

bool same_device(const CostModelInputs& a, const CostModelInputs& b) { return a.device == b.device; }

bool same_network(const CostModelInputs& a, const CostModelInputs& b) {
  return a.device.compute_capability == b.device.compute_capability && a.collectives == b.collectives &&
         a.cluster == b.cluster;
}

/// The same system with other links.
bool same_system(const CostModelInputs& a, const CostModelInputs& b) {
  return a.cluster.name == b.cluster.name && a.device.compute_capability == b.device.compute_capability;
}

Result<opmodels::OpModels> ops_of(const CostModelInputs& inputs, const CostModels* like) {
  if (like) return like->ops;
  return op_models_of(inputs.device);
}

/// `device`, `network` and `system` are kept models of the same device, network or system, if there are any.
Result<std::shared_ptr<const CostModels>> make_models(const CostModelInputs& inputs, const CostModels* device,
                                                      const CostModels* network, const CostModels* system) {
  TRY_ASSIGN(opmodels::OpModels ops, ops_of(inputs, device));
  if (network)
    return std::shared_ptr<const CostModels>(
        std::make_shared<CostModels>(CostModels{network->topology, std::move(ops), network->collectives}));
  TRY_ASSIGN(topology::Topology topology, topology::Topology::build(inputs.cluster, inputs.device.compute_capability));
  const Result<void> invariants = verify(topology);
  CHECK(invariants.ok()) << invariants.error().text();
  TRY_ASSIGN(collectives::CollectiveModels collectives,
             collectives::CollectiveModels::create(topology, inputs.collectives,
                                                   system != nullptr ? &system->collectives : nullptr));
  return std::shared_ptr<const CostModels>(
      std::make_shared<CostModels>(CostModels{std::move(topology), std::move(ops), std::move(collectives)}));
}

}  // namespace

Result<std::shared_ptr<const CostModels>> make_cost_models(const CostModelInputs& inputs) {
  return make_models(inputs, nullptr, nullptr, nullptr);
}

std::shared_ptr<const CostModels> CostModelCache::find(const CostModelInputs& inputs, Same same) {
  const std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return same(e.inputs, inputs); });
  if (it == entries_.end()) return nullptr;
  const auto models = it->models;
  if (same == same_machine) std::rotate(it, it + 1, entries_.end());  // parts of an entry do not make it used
  return models;
}

Result<std::shared_ptr<const CostModels>> CostModelCache::models(const CostModelInputs& inputs) {
  if (auto kept = find(inputs, same_machine)) {
    log_debug([&] { return "cost models of " + inputs.cluster.name + ": kept from an earlier prediction"; });
    return kept;
  }
  log_debug([&] { return "cost models of " + inputs.cluster.name + ": made"; });
  const auto device = find(inputs, same_device), network = find(inputs, same_network),
             system = find(inputs, same_system);
  TRY_ASSIGN(auto made, make_models(inputs, device.get(), network.get(), system.get()));
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kKept) entries_.erase(entries_.begin());
  entries_.push_back({inputs, made});
  return made;
}

}  // namespace distsim::pipeline
