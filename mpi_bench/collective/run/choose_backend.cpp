#include "mpi_bench/collective/run/backends.hpp"

namespace distsim::bench {
namespace {

[[maybe_unused]] Error not_built(const std::string& backend, const std::string& without) {
  return {"this binary was built without " + without, "--backend " + backend, ""};
}

/// GPU backends, in the order in which auto tries them: why each cannot be used, or nothing.
Result<void> nccl_possible(const Ranks& ranks, int lanes) {
#ifdef DISTSIM_WITH_NCCL
  return ranks.agree(nccl_usable(ranks, lanes));
#else
  (void)ranks, (void)lanes;
  return not_built("nccl", "CUDA or NCCL");
#endif
}

Result<void> mpi_cuda_possible(const Ranks& ranks) {
#if defined(DISTSIM_WITH_MPI) && defined(DISTSIM_WITH_CUDA)
  if (ranks.carrier() != "MPI") return Error{"the ranks were not started by mpirun", "--backend mpi-cuda", ""};
  return ranks.agree(mpi_cuda_usable(ranks));
#else
  (void)ranks;
  return not_built("mpi-cuda", "CUDA or MPI");
#endif
}

Result<void> mpi_possible(const Ranks& ranks) {
#ifdef DISTSIM_WITH_MPI
  if (ranks.carrier() != "MPI") return Error{"the ranks were not started by mpirun", "--backend mpi", ""};
  return {};
#else
  (void)ranks;
  return not_built("mpi", "MPI");
#endif
}

Result<void> possible(BackendChoice kind, const Ranks& ranks, int lanes) {
  switch (kind) {
    case BackendChoice::nccl:
      return nccl_possible(ranks, lanes);
    case BackendChoice::mpi_cuda:
      return mpi_cuda_possible(ranks);
    case BackendChoice::mpi:
      return mpi_possible(ranks);
    default:
      return {};
  }
}

ChosenBackend automatic(const Ranks& ranks, int lanes) {
  const Result<void> nccl = nccl_possible(ranks, lanes);
  if (nccl.ok()) return {BackendChoice::nccl, "auto: one GPU per rank"};
  const std::string why = "auto: " + nccl.error().what;
  if (mpi_cuda_possible(ranks).ok()) return {BackendChoice::mpi_cuda, why + "; the MPI library accepts GPU memory"};
  if (mpi_possible(ranks).ok()) return {BackendChoice::mpi, why};
  return {BackendChoice::tcp, why + "; " + mpi_possible(ranks).error().what};
}

/// MPI and the watchdog know one rank a process; our own messages take threads, and only NCCL drives several GPUs from
/// one.
Result<void> lanes_possible(const ChosenBackend& chosen, const LaneShape& lanes) {
  const bool threads = chosen.kind == BackendChoice::nccl || chosen.kind == BackendChoice::tcp,
             gpus = chosen.kind == BackendChoice::nccl;
  const std::string why = " (" + chosen.why + ")";
  if (lanes.gpus > 1 && !gpus)
    return Error{"found " + std::to_string(lanes.gpus) +
                     ", expected 1: only the nccl backend drives several GPUs from one thread" + why,
                 "-g", "start one rank per GPU with mpirun"};
  if (lanes.threads > 1 && !threads)
    return Error{"found " + std::to_string(lanes.threads) +
                     ", expected 1: only the nccl and tcp backends have several ranks in a process" + why,
                 "-t", "start more ranks with mpirun"};
  return {};
}

}  // namespace

Result<ChosenBackend> choose_backend(const Options& options, const Ranks& ranks) {
  const ChosenBackend chosen = options.backend == BackendChoice::automatic
                                   ? automatic(ranks, options.lanes.lanes())
                                   : ChosenBackend{options.backend, "requested"};
  TRY(lanes_possible(chosen, options.lanes));
  const Result<void> usable = possible(chosen.kind, ranks, options.lanes.lanes());
  if (!usable.ok())
    return Error{usable.error().what, usable.error().where.empty() ? "--backend" : usable.error().where,
                 usable.error().hint};
  if (options.timing.graph_launches > 0 && chosen.kind != BackendChoice::nccl)
    return Error{"found " + std::to_string(options.timing.graph_launches) +
                     ", expected 0: only the nccl backend has CUDA graphs",
                 "-G", ""};
  if (options.load.kind == LoadKind::collective && chosen.kind == BackendChoice::tcp)
    return Error{"the tcp backend has no second communicator for a load, expected 'compute' or another backend",
                 "--load", ""};
  return chosen;
}

Result<std::unique_ptr<Backend>> make_backend(const ChosenBackend& chosen, const Options& options, const Ranks& ranks,
                                              const Team& team) {
  switch (chosen.kind) {
#ifdef DISTSIM_WITH_MPI
    case BackendChoice::mpi:
      return make_mpi_backend(team);
#endif
#if defined(DISTSIM_WITH_MPI) && defined(DISTSIM_WITH_CUDA)
    case BackendChoice::mpi_cuda:
      return make_mpi_cuda_backend(ranks, team);
#endif
#ifdef DISTSIM_WITH_NCCL
    case BackendChoice::nccl:
      return make_nccl_backend(ranks, team,
                               {options.timing.graph_launches, options.timing.blocking,
                                options.load.kind == LoadKind::collective, chosen.issue_group, options.lanes.gpus});
#endif
    default:
      return make_tcp_backend(ranks, team, options.streams);
  }
}

}  // namespace distsim::bench
