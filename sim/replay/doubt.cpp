#include "sim/replay/doubt.hpp"

#include "sim/config/config.hpp"
#include "sim/profile/impossible_rates.hpp"

namespace distsim::replay {

std::string doubt_of(const traces::TraceJob& job, const profile::Profile& profile) {
  const auto device = config::load_device_of_driver(traces::driver_name_of(job));
  if (!device.ok()) return "";
  if (std::string rate = profile::rate_above_peak(profile, *device); !rate.empty()) return rate;
  if (device->server.empty()) return "";
  const auto server = config::load_system(device->server);
  return server.ok() ? profile::bus_above_links(profile, *device, *server) : "";
}

}  // namespace distsim::replay
