// A run: tables of collectives over shapes of groups, or tests of pairs of ranks.
#pragma once

#include <functional>
#include <string>

#include "mpi_bench/collective/output/table.hpp"
#include "mpi_bench/collective/ranks/clock_sync.hpp"
#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/watchdog.hpp"

namespace distsim::bench {

struct RunContext {
  const Options& options;
  const Ranks& ranks;
  const ChosenBackend& chosen;
  Watchdog& watchdog;
  ClockOffset clock;
  std::function<bool()> interrupted;
  std::string flags;  ///< the command line, for the files
};

// All ranks together. Outputs are rank 0's. Errors come before anything has been measured, or when a file cannot be
// written.
Result<Outcome> run_collectives(const RunContext& context);
Result<Outcome> run_pair_tests(const RunContext& context);
Result<Outcome> run_overhead(const RunContext& context);

/// What is to be measured: the plan's curves, or every collective, type and group of the flags at the flags' sizes.
std::vector<PlannedCurve> planned_curves(const Options& options);

/// Several ranks in each process (-t, -g): runs `job` once for every lane of this process, each in its own thread with
/// its own context; lane 0 stays in this thread, and the outcome is its. `processes` is the context of the processes,
/// among whose ranks the lanes are numbered.
Result<Outcome> run_lanes(const RunContext& processes, const std::function<Result<Outcome>(const RunContext&)>& job);

}  // namespace distsim::bench
