// Checksum of a curve file: FNV-1a, 64 bit, over what a price depends on: system, device, identity and points of the
// rows that are used, and whether they are: partial files, curves that are not used or ran alone. It detects a file that was edited or damaged, not one that was forged. collective_bench writes
// it, distsim writes and checks it.
#pragma once

#include <string>

namespace distsim::curves {

class CurveFile;

/// 16 hex digits. Flagged rows and sizes of 0 bytes do not count: they are not used.
std::string checksum_of(const CurveFile& file);

/// As files had it that say nothing by it of whether they are partial and which curves are not used or ran alone.
std::string older_checksum_of(const CurveFile& file);

}  // namespace distsim::curves
