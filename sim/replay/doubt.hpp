// What the GPU that a trace names cannot have done.
#pragma once

#include <string>

#include "sim/profile/profile.hpp"
#include "traces/trace.hpp"

namespace distsim::replay {

/// "aten::addmm of ...: found 1.2 PFLOP/s, expected at most ..."; empty: nothing, or a GPU that is not known.
std::string doubt_of(const traces::TraceJob& job, const profile::Profile& profile);

}  // namespace distsim::replay
