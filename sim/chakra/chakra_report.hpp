// What `distsim replay` says of a Chakra job.
#pragma once

#include <string>

#include "sim/chakra/chakra_play.hpp"

namespace distsim::chakra {

std::string chakra_text(const traces::ChakraSet& set, const ChakraPlay& play, const std::string& where);
/// A row a rank: rank,step,measured_ms,replayed_ms,compute_ms,comm_ms,exposed_comm_ms,idle_ms. A Chakra trace has one
/// step and no measured time.
std::string chakra_csv(const traces::ChakraSet& set, const ChakraPlay& play);
std::string chakra_json(const traces::ChakraSet& set, const ChakraPlay& play, const std::string& where);

}  // namespace distsim::chakra
