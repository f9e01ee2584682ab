#include "sim/replay/doubt.hpp"

#include "sim/config/config.hpp"
#include "sim/profile/impossible_rates.hpp"

namespace distsim::replay {

std::string doubt_of(const traces::TraceJob& job, const profile::Profile& profile) {
  const auto device = config::load_device_of_driver(traces::driver_name_of(job));
  return device.ok() ? profile::rate_above_peak(profile, *device) : "";
}

}  // namespace distsim::replay
