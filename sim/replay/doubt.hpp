// What the GPU that a trace names cannot have done.
#pragma once

#include <string>

#include "sim/profile/profile.hpp"
#include "traces/trace.hpp"

namespace distsim::replay {

/// "the trace calls its GPU 'Tesla V100-SXM2-16GB', which has compute capability 7.0, and states 8.0"; empty: what the trace
/// states of its GPU is that of its name, or one of both is not known.
std::string name_doubt(const traces::TraceJob& job);

/// "aten::addmm of ...: found 1.2 PFLOP/s, expected at most ..."; empty: nothing, or a GPU that is not known.
std::string doubt_of(const traces::TraceJob& job, const profile::Profile& profile);

}  // namespace distsim::replay
