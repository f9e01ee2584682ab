// How this process was started: by mpirun, by another launcher whose environment names ranks, or by hand with --hosts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"

namespace distsim::bench {

/// To load the program and to meet takes longer than a step, above all on a busy machine: with a stall limit below this, the
/// ranks still have so long to find each other.
constexpr double kLeastStartSeconds = 20;

/// What a launcher's environment provides: Open MPI (OMPI_COMM_WORLD_*), MPICH and Hydra (PMI_*), Slurm (SLURM_*),
/// torchrun (RANK, WORLD_SIZE).
struct LaunchFacts {
  int rank = 0, size = 1;
  int local_size = 0;  ///< 0: not said
  std::string job;     ///< distinguishes two jobs on one machine
  std::string root;    ///< MASTER_ADDR; empty: not said
};
using Environment = std::function<const char*(const char*)>;
std::optional<LaunchFacts> launch_facts(const Environment& environment);

/// Where TCP ranks meet, from the flags or else from the launcher.
Result<TcpPlaces> tcp_places(const Options& options, const std::optional<LaunchFacts>& launch,
                             const std::string& host_name);

/// The ranks of this run. Takes argc and argv for MPI.
Result<std::unique_ptr<ProcessRanks>> start_ranks(const Options& options, int* argc, char*** argv);

}  // namespace distsim::bench
