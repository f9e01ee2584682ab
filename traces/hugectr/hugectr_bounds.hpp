// What no result of HugeCTR's profiler can exceed, whoever reads it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace distsim::traces {

/// Work of one iteration may end in the next, not after it. `event` is how the message names it; `end_ms` counts from the
/// start of its iteration.
Result<void> check_end_of_event(const std::string& event, double end_ms, double iteration_ms, const std::string& path);

}  // namespace distsim::traces
