#include "opmodels/op_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "opmodels/learned/references.hpp"
#include "opmodels/learned/row_times.hpp"
#include "opmodels/limits.hpp"
#include "opmodels/measured/measured_table.hpp"
#include "opmodels/registry.hpp"
#include "opmodels/shape_check.hpp"

namespace distsim::opmodels {

struct OpModels::Impl {
  topology::DeviceSpec spec;
  DeviceRates rates;
  DeviceRates warm;
  std::shared_ptr<const MeasuredTable> measured;
  /// The device that the table was measured on, where it is not this one; at [1] with operands in L2.
  std::optional<std::array<DeviceRates, 2>> as_measured;
};

namespace {

constexpr double kMeasuredSpread = 0.05;   // chosen: clock and temperature move one kernel on one GPU by about that
constexpr double kInterpolatedFrom = 0.3;  // chosen: trust from which the basis is the table

/// At least as wide as the rows of measured points make it.
Spread widened(const Spread& spread, const MeasuredTable::Answer& answer) {
  return {std::max(spread.low, 1 - std::exp(-answer.trust * answer.log_below)),
          std::max(spread.high, std::exp(answer.trust * answer.log_above) - 1)};
}

/// The models' time corrected by the table, where it has measurements near the op.
OpTime by_table(const MeasuredTable& table, const graph::Op& op, OpTime time) {
  const auto point = point_of(op);
  const MeasuredTable::Answer answer = point ? table.ask(*point) : MeasuredTable::Answer{};
  if (answer.trust == 0) return time;
  if (answer.measured_us > 0)
    return {answer.measured_us * 1e-6, widened({kMeasuredSpread, kMeasuredSpread}, answer),
            answer.scaled ? graph::Basis::scaled : graph::Basis::measured, "op table"};
  time.spread = widened(time.spread, answer);
  time.seconds *= std::exp(answer.trust * answer.log_ratio);
  if (answer.trust < kInterpolatedFrom) return time;
  time.basis = graph::Basis::interpolated;
  time.source = "op table";
  return time;
}

/// What the models say. A learned ratio may come from a GPU whose memory reaches more of its data sheet than this one's can,
/// and a band is as wide where memory alone decides: neither the time nor the low end of its range is below what memory
/// takes, or products at the peak of their type.
Result<OpTime> by_models(const OpModelEntry& entry, const DeviceRates& rates, const graph::Op& op) {
  TRY_ASSIGN(const OpTime time, entry.price(rates, op));
  return at_least(time, std::max(memory_takes(rates, op), products_take(rates, op)));
}

/// The models' time of a device with other figures or a locked clock, corrected as the table corrects it on the device that it
/// was measured on. Where that one cannot run the op, nothing near was measured.
OpTime by_table_of(const DeviceRates& as_measured, const MeasuredTable& table, const OpModelEntry& entry,
                   const graph::Op& op, const OpTime& asked) {
  const Result<OpTime> before = by_models(entry, as_measured, op);
  if (!before.ok() || before->seconds <= 0) return asked;
  OpTime time = by_table(table, op, *before);
  if (asked.seconds == before->seconds) return time;
  time.seconds *= asked.seconds / before->seconds;
  if (time.basis == graph::Basis::measured) time.basis = graph::Basis::scaled;
  return time;
}

void add_learned(DeviceRates& rates, const std::shared_ptr<const ReferenceGpus>& gpus) {
  if (!gpus) return;
  rates.learned = gpus->learned();
  rates.row_tables = std::make_shared<RowTables>();
  rates.references = std::make_shared<const References>(rates, gpus);
}

/// Null where nothing is learned.
std::shared_ptr<const ReferenceGpus> reference_gpus(const std::shared_ptr<const LearnedModels>& learned,
                                                    const OpModels* like) {
  if (!learned) return nullptr;
  const auto& known = like ? like->rates().references : nullptr;
  return known && known->gpus()->learned() == learned ? known->gpus() : std::make_shared<const ReferenceGpus>(learned);
}

}  // namespace

topology::DeviceSpec measured_device(const topology::DeviceSpec& device) {
  topology::DeviceSpec spec = device.described.empty() ? device : device.described.front();
  spec.described = device.described;
  spec.clock.locked = Hertz(0);
  return spec;
}

Result<OpModels> OpModels::create(const topology::DeviceSpec& device, std::shared_ptr<const LearnedModels> learned,
                                  std::shared_ptr<const MeasuredTable> measured, const OpModels* like) {
  TRY_ASSIGN(DeviceRates rates, device_rates(device));
  if (device.is_amd()) learned = nullptr;  // the forests know NVIDIA's libraries
  const auto gpus = reference_gpus(learned, like);
  std::optional<std::array<DeviceRates, 2>> as_measured;
  if (measured) {
    TRY_ASSIGN(DeviceRates before, device_rates(measured_device(device)));
    if (!same_rates(rates, before)) {
      add_learned(before, gpus);
      as_measured = {before, before};
      (*as_measured)[1].warm = true;
    }
  }
  add_learned(rates, gpus);
  DeviceRates warm = rates;
  warm.warm = true;
  return OpModels(std::make_shared<const Impl>(
      Impl{device, std::move(rates), std::move(warm), std::move(measured), std::move(as_measured)}));
}

bool OpModels::prices_as(const OpModels& other) const {
  const Impl &a = *impl_, &b = *other.impl_;
  if (a.measured != b.measured || a.as_measured.has_value() != b.as_measured.has_value()) return false;
  return same_rates(a.rates, b.rates) && (!a.as_measured || same_rates(a.as_measured->front(), b.as_measured->front()));
}

const topology::DeviceSpec& OpModels::device() const { return impl_->spec; }
const std::shared_ptr<const MeasuredTable>& OpModels::measured() const { return impl_->measured; }
const DeviceRates& OpModels::rates(bool warm) const { return warm ? impl_->warm : impl_->rates; }

Result<graph::Cost> OpModels::price(const graph::Op& op, bool warm) const {
  const OpModelEntry& entry = op_model_entries()[op.index()];
  Result<void> good = check_fields(op, entry.passes);
  Result<OpTime> time = good.ok() ? by_models(entry, rates(warm), op) : Result<OpTime>(good.error());
  if (!time.ok()) return Error{impl_->spec.name + ": " + time.error().what, "", time.error().hint};
  if (impl_->measured && impl_->as_measured) {
    *time = by_table_of((*impl_->as_measured)[warm ? 1 : 0], *impl_->measured, entry, op, *time);
  } else if (impl_->measured) {
    *time = by_table(*impl_->measured, op, *time);
  }
  if (impl_->measured) *time = at_least(*time, products_take(rates(warm), op));
  TRY_ASSIGN(const graph::Cost cost,
             graph::make_cost(time->seconds, time->spread.low, time->spread.high, time->basis.value_or(entry.basis),
                              time->source.empty() ? entry.source : time->source));
  return with_limits(rates(warm), op, cost);
}

Result<graph::Cost> OpModels::price_steady(const graph::Op& op, bool warm) const {
  TRY_ASSIGN(const graph::Cost cost, price(op, warm));
  const topology::DeviceSpec& d = impl_->spec;
  const topology::UnitsBusy busy{cost.busy.matrix, cost.busy.vector, cost.busy.memory};
  const Hertz priced = topology::clock_of_prices(d);
  return graph::at_clock(cost, priced.value() / topology::clock_of_mix(d.clock, d.power_limit, busy, priced).value());
}

}  // namespace distsim::opmodels
