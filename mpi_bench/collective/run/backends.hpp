// The backends that this binary was built with, which of them a run uses, and how one is made for a group of ranks.
#pragma once

#include <memory>
#include <string>

#include "mpi_bench/collective/backend.hpp"
#include "mpi_bench/collective/options.hpp"
#include "mpi_bench/collective/run/ranks.hpp"
#include "mpi_bench/collective/run/team.hpp"

namespace distsim::bench {

// Each of these is called by all ranks together, also by those that are idle in the team's shape.
#ifdef DISTSIM_WITH_MPI
std::unique_ptr<Backend> make_mpi_backend(const Team& team);
#endif
#if defined(DISTSIM_WITH_MPI) && defined(DISTSIM_WITH_CUDA)
Result<void> mpi_cuda_usable(const Ranks& ranks);  ///< why GPU memory cannot be given to this MPI, or success
Result<std::unique_ptr<Backend>> make_mpi_cuda_backend(const Ranks& ranks, const Team& team);
#endif
#ifdef DISTSIM_WITH_NCCL
Result<void> nccl_usable(const Ranks& ranks);      ///< why NCCL cannot be used on this rank (no driver, fewer GPUs than ranks), or success
Result<std::unique_ptr<Backend>> make_nccl_backend(const Ranks& ranks, const Team& team, int graph_launches, bool second_comm);
#endif
Result<std::unique_ptr<Backend>> make_tcp_backend(const Ranks& ranks, const Team& team, int streams);

struct ChosenBackend {
  BackendChoice kind = BackendChoice::tcp;
  std::string why;  ///< "asked for", or what auto saw
};
/// All ranks together, with the same answer everywhere: nccl where every rank has a GPU, else mpi-cuda where the MPI library takes GPU memory, else
/// mpi, else tcp.
Result<ChosenBackend> choose_backend(const Options& options, const Ranks& ranks);

/// A backend for one shape of groups. All ranks together.
Result<std::unique_ptr<Backend>> make_backend(const ChosenBackend& chosen, const Options& options, const Ranks& ranks, const Team& team);

}  // namespace distsim::bench
