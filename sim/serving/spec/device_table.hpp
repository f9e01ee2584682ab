// The devices that an experiment's GPUs name, and their op models.
#pragma once

#include <map>
#include <string>

#include "sim/serving/pricing/graph_model.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

struct Text;

/// What an idle GPU draws of its power limit: 55 of 400 W (A100), 75 of 700 W (H100), by nvidia-smi.
inline constexpr double kIdlePowerShare = 0.12;

class DeviceTable {
 public:
  /// Errors: a device that does not exist.
  static Result<DeviceTable> create(const ServingSpec& spec, const Text& text);

  /// Null where the GPU names none.
  const topology::DeviceSpec* device(const GpuSpec& g) const {
    return g.device.empty() ? nullptr : &prices_.at(g.device).all.device();
  }
  const DevicePrices& prices(const std::string& device) const { return prices_.at(device); }
  /// The file of a device, or its name.
  const std::string& source(const std::string& device) const { return sources_.at(device); }
  double idle_watts(const GpuSpec& g) const {
    if (g.idle_power.value() > 0) return g.idle_power.value();
    return g.device.empty() ? 0 : kIdlePowerShare * device(g)->power_limit.value();
  }
  double busy_watts(const GpuSpec& g) const {
    if (g.busy_power.value() > 0) return g.busy_power.value();
    return g.device.empty() ? 0 : device(g)->power_limit.value();
  }

 private:
  std::map<std::string, DevicePrices> prices_;
  std::map<std::string, std::string> sources_;
};

}  // namespace distsim::serving
