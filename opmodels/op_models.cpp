#include "opmodels/op_models.hpp"

#include <cmath>

#include "opmodels/learned/size_envelope.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "opmodels/registry.hpp"

namespace distsim::opmodels {

struct OpModels::Impl {
  topology::DeviceSpec spec;
  DeviceRates rates;
  DeviceRates warm;
  std::shared_ptr<const MeasuredTable> measured;
};

namespace {

constexpr double kMeasuredSpread = 0.05;   // runs of one kernel on one GPU differ by so much, in clock and temperature
constexpr double kInterpolatedFrom = 0.3;  // trust from which the table leads

/// What the table says on top of the models; the models' own time where it says nothing.
OpTime by_table(const MeasuredTable& table, const graph::Op& op, OpTime time) {
  const auto point = point_of(op);
  const MeasuredTable::Answer answer = point ? table.ask(*point) : MeasuredTable::Answer{};
  if (answer.trust == 0) return time;
  if (answer.measured_us > 0)
    return {answer.measured_us * 1e-6, {kMeasuredSpread, kMeasuredSpread}, graph::Basis::measured, "op table"};
  time.seconds *= std::exp(answer.trust * answer.log_ratio);
  if (answer.trust < kInterpolatedFrom) return time;
  time.basis = graph::Basis::interpolated;
  time.source = "op table";
  return time;
}

}  // namespace

Result<OpModels> OpModels::create(const topology::DeviceSpec& device, std::shared_ptr<const LearnedModels> learned,
                                  std::shared_ptr<const MeasuredTable> measured) {
  TRY_ASSIGN(DeviceRates rates, device_rates(device));
  rates.learned = std::move(learned);
  if (rates.learned) rates.envelopes = std::make_shared<RowEnvelopes>();
  DeviceRates warm = rates;
  warm.warm = true;
  return OpModels(std::make_shared<const Impl>(Impl{device, std::move(rates), std::move(warm), std::move(measured)}));
}

const topology::DeviceSpec& OpModels::device() const { return impl_->spec; }
const DeviceRates& OpModels::rates(bool warm) const { return warm ? impl_->warm : impl_->rates; }

Result<graph::Cost> OpModels::price(const graph::Op& op, bool warm) const {
  const auto entries = op_model_entries();
  if (op.index() >= entries.size())
    return Error{std::string(graph::kind_of(op)) + ": found in the op models, expected in the collective models", "",
                 ""};
  const OpModelEntry& entry = entries[op.index()];
  Result<OpTime> time = entry.price(rates(warm), op);
  if (!time.ok()) return Error{time.error().what, impl_->spec.name, time.error().hint};
  if (impl_->measured) *time = by_table(*impl_->measured, op, *time);
  return graph::make_cost(time->seconds, time->spread.low, time->spread.high, time->basis.value_or(entry.basis),
                          time->source.empty() ? entry.source : time->source);
}

}  // namespace distsim::opmodels
