// What `distsim replay` says of a Chakra job.
#pragma once

#include <string>

#include "sim/app/chakra_play.hpp"

namespace distsim {

std::string chakra_text(const ChakraSet& set, const ChakraPlay& play, const std::string& where);
/// A row a rank: rank,step,measured_ms,replayed_ms,compute_ms,comm_ms,exposed_comm_ms,idle_ms. A Chakra trace has one step and no measured time.
std::string chakra_csv(const ChakraSet& set, const ChakraPlay& play);
std::string chakra_json(const ChakraSet& set, const ChakraPlay& play, const std::string& where);

}  // namespace distsim
