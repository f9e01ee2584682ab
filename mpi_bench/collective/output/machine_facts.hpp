// What a curve file records about the machine, apart from the ranks.
#pragma once

#include <string>

namespace distsim::bench {

std::string driver_version();  ///< of the NVIDIA driver; empty where nvidia-smi says nothing

/// The given file, or with a GPU what `nvidia-smi topo -m` prints; cut at 256 KiB. Empty where there is neither.
std::string topology_text(const std::string& file, bool gpu);

/// Hex digest of this program's file: ranks with another one are refused.
std::string program_fingerprint();

}  // namespace distsim::bench
