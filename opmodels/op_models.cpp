#include "opmodels/op_models.hpp"

#include "opmodels/registry.hpp"

namespace distsim {

struct OpModels::Impl {
  DeviceSpec spec;
  DeviceRates rates;
};

Result<OpModels> OpModels::create(const DeviceSpec& device) {
  TRY_ASSIGN(DeviceRates rates, device_rates(device));
  return OpModels(std::make_shared<const Impl>(Impl{device, std::move(rates)}));
}

const DeviceSpec& OpModels::device() const { return impl_->spec; }

Result<Cost> OpModels::price(const Op& op) const {
  const auto entries = op_model_entries();
  if (op.index() >= entries.size()) return Error{std::string(kind_of(op)) + ": found in the op models, expected in the collective models", "", ""};
  const OpModelEntry& entry = entries[op.index()];
  Result<OpTime> time = entry.price(impl_->rates, op);
  if (!time.ok()) return Error{time.error().what, impl_->spec.name, time.error().hint};
  return make_cost(time->seconds, time->spread.low, time->spread.high, entry.basis, entry.source);
}

}  // namespace distsim
