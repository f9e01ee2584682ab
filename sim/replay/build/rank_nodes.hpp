// The nodes of one rank of a replay graph.
#pragma once

#include "base/result.hpp"
#include "sim/replay/build/replay_graph.hpp"

namespace distsim::replay {

/// Adds the nodes and waits of rank `rank` (index into TraceJob::ranks). Error: more kernels at once on one stream than
/// any device runs, which is not a trace of one.
Result<void> add_rank(ReplayGraph& graph, std::uint32_t rank);

}  // namespace distsim::replay
