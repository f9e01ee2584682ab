// A run in which each process has several ranks (-t, -g).
#pragma once

#include "mpi_bench/collective/run/run.hpp"

namespace distsim::bench {

/// Runs `job` once for every lane of this process, each in a thread of its own with a context of its own; lane 0 stays
/// in this thread. The outcome is lane 0's. `processes` is the context of the processes, whose ranks the lanes' are
/// numbered within.
Result<Outcome> run_lanes(const RunContext& processes, const std::function<Result<Outcome>(const RunContext&)>& job);

}  // namespace distsim::bench
