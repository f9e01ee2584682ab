// Checksum of a curve file as distsim checks it: FNV-1a, 64 bit, over what a price depends on (system, device, identity
// and points of the used rows).
#pragma once

#include <string>

namespace distsim::curves {
class CurveFile;
}

namespace distsim::bench {

/// 16 hex digits.
std::string checksum_of(const curves::CurveFile& file);

}  // namespace distsim::bench
