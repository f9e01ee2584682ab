// The backends that this binary was built with, and which of them a run uses.
#pragma once

#include <memory>
#include <string>

#include "mpi_bench/collective/backend.hpp"
#include "mpi_bench/collective/options.hpp"
#include "mpi_bench/collective/run/ranks.hpp"

namespace distsim::bench {

std::unique_ptr<Backend> make_mpi_backend();

#ifdef DISTSIM_WITH_NCCL
/// Why NCCL cannot be used on this rank (no driver, fewer GPUs than ranks on this host), or success.
Result<void> nccl_usable(const Ranks& ranks);
Result<std::unique_ptr<Backend>> make_nccl_backend(const Ranks& ranks, int graph_launches);
#endif

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::string why;  ///< "asked for", or what auto saw
};
/// All ranks together, with the same answer everywhere.
Result<ChosenBackend> choose_backend(const Options& options, const Ranks& ranks);

}  // namespace distsim::bench
