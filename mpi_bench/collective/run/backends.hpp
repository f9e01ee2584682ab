// The backends that this binary was built with, which of them a run uses, and how one is made for a group of ranks.
#pragma once

#include <memory>
#include <string>

#include "mpi_bench/collective/backend/backend.hpp"
#include "mpi_bench/collective/options/options.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"
#include "mpi_bench/collective/ranks/team.hpp"

namespace distsim::bench {

class IssueGroup;

// Each of these is called by all ranks together, also by those that are idle in the team's shape.
#ifdef DISTSIM_WITH_MPI
std::unique_ptr<Backend> make_mpi_backend(const Team& team);
#endif
#if defined(DISTSIM_WITH_MPI) && defined(DISTSIM_WITH_CUDA)
Result<void> mpi_cuda_usable(const Ranks& ranks);  ///< why GPU memory cannot be given to this MPI, or success
Result<std::unique_ptr<Backend>> make_mpi_cuda_backend(const Ranks& ranks, const Team& team);
#endif
#ifdef DISTSIM_WITH_NCCL
/// Why NCCL cannot be used by this process (no driver, fewer GPUs than its node's ranks), or success. `lanes` GPUs a
/// process.
Result<void> nccl_usable(const Ranks& processes, int lanes);
struct NcclNeeds {
  int graph_launches = 0;
  bool blocking = false;              ///< each call is waited for
  bool second_comm = false;           ///< for a load concurrent with the timed calls
  IssueGroup* issue_group = nullptr;  ///< as in ChosenBackend
  int gpus_of_a_thread = 1;           ///< that meet there; ranks that follow each other
};
Result<std::unique_ptr<Backend>> make_nccl_backend(const Ranks& ranks, const Team& team, const NcclNeeds& needs);
#endif
Result<std::unique_ptr<Backend>> make_tcp_backend(const Ranks& ranks, const Team& team, int streams);

struct ChosenBackend {
  BackendChoice kind = BackendChoice::tcp;
  std::string why;                    ///< "asked for", or what auto saw
  IssueGroup* issue_group = nullptr;  ///< of the GPUs that one thread drives; null: a thread a GPU
};
/// All ranks together, with the same answer everywhere: nccl where every rank has a GPU, else mpi-cuda where the MPI
/// library takes GPU memory, else mpi, else tcp.
Result<ChosenBackend> choose_backend(const Options& options, const Ranks& ranks);

/// A backend for one shape of groups. All ranks together.
Result<std::unique_ptr<Backend>> make_backend(const ChosenBackend& chosen, const Options& options, const Ranks& ranks,
                                              const Team& team);

}  // namespace distsim::bench
