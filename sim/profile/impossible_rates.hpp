// Ops that are faster than the GPU of their trace can be.
#pragma once

#include <string>

#include "sim/profile/profile.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::profile {

/// "aten::addmm of 4096x1024, ... (float): found 1.2 PFLOP/s, expected at most ...", of the matrix product that exceeds the
/// peak of its type by the most; other ops may need fewer operations than their formula. Empty: none does.
std::string rate_above_peak(const Profile& profile, const topology::DeviceSpec& device);

}  // namespace distsim::profile
