// Flags that were given and change nothing in this run.
#pragma once

#include <string>
#include <vector>

#include "mpi_bench/collective/options/options.hpp"

namespace distsim::bench {

/// What is known once the ranks have met.
struct StartFacts {
  BackendChoice backend = BackendChoice::automatic;  ///< the one chosen
  bool started_by_mpi = false;
};

/// "--imbalance: no effect, ..." for each flag of the command line that has a value other than its default and is not
/// read in this run. A row of the table in idle_flags.cpp says for each flag which runs read it.
std::vector<std::string> idle_flags(const CommandLine& line, const StartFacts& facts);

}  // namespace distsim::bench
