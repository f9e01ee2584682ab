// Ops that are faster than the GPU of their trace can be.
#pragma once

#include <string>

#include "sim/profile/profile.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::profile {

/// "aten::addmm of 4096x1024, ... (float): found 1.2 PFLOP/s, expected at most ...", of the op that exceeds by the most the peak
/// of its type, if it is a matrix product (others may need fewer operations than their formula), or the bandwidth of the
/// memory, if it is elementwise: with what is certain to be read and written, less what the L2 may hold of it before and after.
/// Empty: none does.
std::string rate_above_peak(const Profile& profile, const topology::DeviceSpec& device);

/// "all_reduce of 64 MB over 8 ranks: found 1.9 TB/s, expected at most ...", of the large collective whose bus bandwidth exceeds by
/// the most what the links of the GPU carry, as it usually comes: NVLink, else PCIe. Empty: none does, or groups or sizes are not
/// known.
std::string bus_above_links(const Profile& profile, const topology::DeviceSpec& device,
                            const topology::ClusterSpec& server);

}  // namespace distsim::profile
