// A run: tables of collectives over shapes of groups, or tests of pairs of ranks.
#pragma once

#include <functional>
#include <string>

#include "mpi_bench/collective/run/backends.hpp"
#include "mpi_bench/collective/run/clock_sync.hpp"
#include "mpi_bench/collective/run/watchdog.hpp"
#include "mpi_bench/collective/table.hpp"

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

}  // namespace distsim::bench
