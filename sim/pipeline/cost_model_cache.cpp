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

bool same_device_name(const CostModelInputs& a, const CostModelInputs& b) { return a.device.name == b.device.name; }

bool any_other(const CostModelInputs&, const CostModelInputs&) { return true; }

/// Kept models that share something with those to be made, if there are any.
struct Likes {
  std::shared_ptr<const CostModels> device, network;  ///< equal in it
  std::shared_ptr<const CostModels> system;           ///< the same with other links
  std::shared_ptr<const CostModels> other;            ///< of the device with other figures, or of any
};

Result<opmodels::OpModels> ops_of(const CostModelInputs& inputs, const Likes& like) {
  if (like.device) return like.device->ops;
  return op_models_of(inputs.device, like.other ? &like.other->ops : nullptr);
}

/// The prices that are known already.
std::shared_ptr<OpPrices> op_prices_of(const opmodels::OpModels& ops, const Likes& like) {
  if (like.device) return like.device->op_prices;
  return like.other && ops.prices_as(like.other->ops) ? like.other->op_prices : std::make_shared<OpPrices>();
}

Result<std::shared_ptr<const CostModels>> make_models(const CostModelInputs& inputs, const Likes& like) {
  TRY_ASSIGN(opmodels::OpModels ops, ops_of(inputs, like));
  auto prices = op_prices_of(ops, like);
  if (like.network)
    return std::shared_ptr<const CostModels>(
        std::make_shared<CostModels>(CostModels{like.network->topology, std::move(ops), like.network->collectives,
                                                std::move(prices), like.network->group_prices}));
  TRY_ASSIGN(topology::Topology topology, topology::Topology::build(inputs.cluster, inputs.device.compute_capability));
  const Result<void> invariants = verify(topology);
  CHECK(invariants.ok()) << invariants.error().text();
  TRY_ASSIGN(collectives::CollectiveModels collectives,
             collectives::CollectiveModels::create(topology, inputs.collectives,
                                                   like.system ? &like.system->collectives : nullptr));
  return std::shared_ptr<const CostModels>(
      std::make_shared<CostModels>(CostModels{std::move(topology), std::move(ops), std::move(collectives),
                                              std::move(prices), std::make_shared<GroupPrices>()}));
}

}  // namespace

Result<std::shared_ptr<const CostModels>> make_cost_models(const CostModelInputs& inputs) {
  return make_models(inputs, {});
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
  Likes like{find(inputs, same_device), find(inputs, same_network), find(inputs, same_system),
             find(inputs, same_device_name)};
  if (!like.other) like.other = find(inputs, any_other);
  TRY_ASSIGN(auto made, make_models(inputs, like));
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kKept) entries_.erase(entries_.begin());
  entries_.push_back({inputs, made});
  return made;
}

}  // namespace distsim::pipeline
