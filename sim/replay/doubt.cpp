#include "sim/replay/doubt.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/config/config.hpp"
#include "sim/profile/impossible_rates.hpp"

namespace distsim::replay {
namespace {

/// The runtime's number of gfx90a is 9.0, as Hopper's; its device file has another.
bool is_capability_of(const topology::DeviceSpec& device, std::int64_t stated) {
  return device.is_amd() ? stated / 10 == device.compute_capability / 10 : stated == device.compute_capability;
}

std::string capability(std::int64_t number) { return std::to_string(number / 10) + "." + std::to_string(number % 10); }

}  // namespace

/// Part of a GPU (MIG) has fewer multiprocessors than its name, but none has more.
std::string name_doubt(const traces::TraceJob& job) {
  const std::string name = traces::driver_name_of(job);
  const auto known = config::load_device_of_driver(name);
  if (!known.ok()) return "";
  const std::string says = "the trace calls its GPU " + in_quotes(name, 60) + ", which has ";
  for (const traces::TraceRank& rank : job.ranks) {
    for (const traces::TraceDevice& d : rank.devices) {
      if (d.name != name) continue;
      if (d.compute_capability > 0 && known->compute_capability > 0 && !is_capability_of(*known, d.compute_capability))
        return says + "compute capability " + capability(known->compute_capability) + ", and states " +
               capability(d.compute_capability);
      if (static_cast<std::int64_t>(d.multiprocessors) > known->sm_count)
        return says + std::to_string(known->sm_count) + " multiprocessors, and states " +
               std::to_string(d.multiprocessors);
    }
  }
  return "";
}

std::string doubt_of(const traces::TraceJob& job, const profile::Profile& profile) {
  if (std::string name = name_doubt(job); !name.empty()) return name + ": is the name right?";
  const auto device = config::load_device_of_driver(traces::driver_name_of(job));
  if (!device.ok()) return "";
  if (std::string rate = profile::rate_above_peak(profile, *device); !rate.empty()) return rate;
  if (device->server.empty()) return "";
  const auto server = config::load_system(device->server);
  return server.ok() ? profile::bus_above_links(profile, *device, *server) : "";
}

}  // namespace distsim::replay
