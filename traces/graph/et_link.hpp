// A PyTorch execution trace and the Kineto trace of the same run, joined: shapes, types and collectives from the one,
// times from the other.
#pragma once

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// Joins the ops of `nodes` (no times) to those of `timed`: by Record function id where both have one that is unique,
/// else the k-th op of a name with the k-th of that name on the thread of the same place, where both have equally many.
/// Fills inputs, outputs and collectives that `timed` lacks; says in its notes how many ops were joined, and what those of
/// `nodes` say. Error: more than a few calls have sizes or types in both that differ; hardly
/// any op is in both.
Result<void> link_execution_trace(TraceJob& job, TraceRank& timed, const TraceRank& nodes);

}  // namespace distsim::traces
