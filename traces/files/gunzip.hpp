// Gzip, read at once: for small inputs such as the trace of one rank.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"

namespace distsim::traces {

inline bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

/// All members of a gzip file. Refuses damage, a cut end, and anything that outgrows `limit`. `file` appears in
/// messages.
Result<std::string> gunzip(std::string_view bytes, const std::string& file, ExpansionLimit limit);

/// As much of the first `bytes` of the expanded text as the start of a file gives; empty where it is no gzip.
std::string gunzip_head(std::string_view start, std::size_t bytes);

}  // namespace distsim::traces
