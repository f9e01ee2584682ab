// Chakra writer: a rank's graph as the bytes of an .et file of the current layout, for other simulators.
#pragma once

#include <string>

#include "traces/chakra/chakra.hpp"

namespace distsim::traces {

/// GlobalMetadata of version 0.0.4, then the nodes in order. Durations are rounded to whole microseconds, at least 1
/// for work that takes any time, and kept to the picosecond in the attribute duration_ps, which only this program
/// reads. Process groups go into the inputs of the first METADATA node, as PyTorch writes them.
std::string to_chakra(const ChakraGraph& graph);

/// {"1": [0, 1], "2": [2, 3]}: communicators as ASTRA-sim takes them with the traces.
std::string to_chakra_groups(const std::map<std::string, std::vector<std::uint32_t>>& groups);

}  // namespace distsim::traces
