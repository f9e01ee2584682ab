// Loads a plan: from a file, or from the `distsim` next to this program, which knows the collectives of an experiment.
#pragma once

#include <vector>

#include "mpi_bench/collective/options.hpp"

namespace distsim::bench {

/// Reads options.plan; "simulate" runs `distsim curves plan --config options.config`. To be called before MPI starts:
/// it may start a program.
Result<std::vector<PlannedCurve>> load_plan(const Options& options);

}  // namespace distsim::bench
