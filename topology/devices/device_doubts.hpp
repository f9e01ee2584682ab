// What figures of one device say against each other.
#pragma once

#include <string>
#include <vector>

#include "topology/devices/device_spec.hpp"

namespace distsim::topology {

/// Factors of what-ifs, sweeps and sensitivities are below this; slips of a digit or a unit are above. Chosen.
inline constexpr double kBeyondWhatIf = 4;

/// One line each, for a device that could not be built as it is described but may be asked for as a what-if:
///   - a peak rate of more than kBeyondWhatIf times what its SMs do at boost, by the largest rate of an SM of that compute
///     capability (NVIDIA's and AMD's whitepapers); of several types the one that is furthest above
///   - a peak rate of less than its SMs do without matrix units at boost, over kBeyondWhatIf; not of fp64, of which some
///     have next to nothing
///   - a compute capability that its architecture does not have
///   - a power limit of more than kBeyondWhatIf times the power that its sustained clock was found at, or
///     one that only a clock below the lowest of clock_under_load() would keep
///   - memory faster than the L2 that all of it passes
std::vector<std::string> device_doubts(const DeviceSpec& device);

/// "ampere" for "amper"; empty where the name is known, or like none that is.
std::string misspelt_architecture(const std::string& name);

}  // namespace distsim::topology
