#include "opmodels/measured/models_at_clocks.hpp"

#include <algorithm>
#include <cmath>

#include "opmodels/hardware/device_rates.hpp"

namespace distsim::opmodels {

ModelsAtClocks::ModelsAtClocks(const OpModels& models)
    : models_(models), device_(measured_device(models.device())), usual_(topology::clock_of_prices(device_)) {}

Result<const OpModels*> ModelsAtClocks::free() {
  if (models_.device() == device_ && !models_.measured()) return &models_;
  if (!free_) {
    TRY_ASSIGN(free_, OpModels::create(device_, models_.rates().learned, nullptr, &models_));
  }
  return &*free_;
}

Result<const OpModels*> ModelsAtClocks::at(Hertz clock) {
  constexpr std::size_t kMostKept = 64;  // of a file with another clock in every row
  const std::int64_t mhz = std::max<std::int64_t>(1, std::llround(clock.value() * 1e-6));
  if (const auto known = locked_.find(mhz); known != locked_.end()) return &known->second;
  if (locked_.size() >= kMostKept) locked_.clear();
  topology::DeviceSpec device = device_;
  device.clock.locked = Hertz(static_cast<double>(mhz) * 1e6);
  TRY_ASSIGN(OpModels models, OpModels::create(device, models_.rates().learned, nullptr, &models_));
  return &locked_.emplace(mhz, std::move(models)).first->second;
}

Result<const OpModels*> ModelsAtClocks::of_row(Hertz clock) {
  if (is_low(clock)) return at(clock);
  return clock.value() > 0 && models_.device().clock.locked.value() > 0 ? free() : &models_;
}

}  // namespace distsim::opmodels
