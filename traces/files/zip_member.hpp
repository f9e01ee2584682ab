// The members of a zip archive as traces.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/trace_file.hpp"

namespace distsim::traces {

/// Every member that is a file, in the archive's order; `__MACOSX/` and `._*` are left out. Errors: not a zip archive,
/// encrypted or no members, more than 65536.
Result<std::vector<TraceFile>> open_zip(const std::string& path, ExpansionLimit limit);

}  // namespace distsim::traces
