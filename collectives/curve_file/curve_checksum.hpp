// Checksum of a curve file: FNV-1a, 64 bit, over what a price depends on: system, device, identity and points of the
// rows that are used. It detects a file that was edited or damaged, not one that was forged. collective_bench writes
// it, distsim writes and checks it.
#pragma once

#include <string>

namespace distsim::curves {

class CurveFile;

/// 16 hex digits. Flagged rows and sizes of 0 bytes do not count: they are not used.
std::string checksum_of(const CurveFile& file);

}  // namespace distsim::curves
