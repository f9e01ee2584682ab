// The file of constants that distsim was built with.
#pragma once

#include <string_view>

namespace distsim::collectives {

/// configs/collectives/nccl.yaml, byte for byte.
std::string_view shipped_constants_file();

}  // namespace distsim::collectives
