#include "mpi_bench/collective/run/backends.hpp"

namespace distsim::bench {
namespace {

Result<ChosenBackend> mpi(const Options& options, std::string why) {
  if (options.graph_launches > 0) return Error{"found " + std::to_string(options.graph_launches) + ", expected 0: the mpi backend has no CUDA graphs", "-G", ""};
  return ChosenBackend{make_mpi_backend(), std::move(why)};
}

#ifdef DISTSIM_WITH_NCCL
Result<ChosenBackend> nccl(const Options& options, const Ranks& ranks, std::string why) {
  auto made = make_nccl_backend(ranks, options.graph_launches);
  TRY(ranks.agree(made.ok() ? Result<void>() : Result<void>(made.error())));
  return ChosenBackend{std::move(made).value(), std::move(why)};
}
#endif

}  // namespace

Result<ChosenBackend> choose_backend(const Options& options, const Ranks& ranks) {
  if (options.backend == BackendChoice::mpi) return mpi(options, "asked for");
#ifdef DISTSIM_WITH_NCCL
  const Result<void> usable = ranks.agree(nccl_usable(ranks));
  if (usable.ok()) return nccl(options, ranks, options.backend == BackendChoice::nccl ? "asked for" : "auto: a GPU for every rank");
  if (options.backend == BackendChoice::nccl) return Error{usable.error().what, "--backend nccl", ""};
  return mpi(options, "auto: " + usable.error().what);
#else
  if (options.backend == BackendChoice::nccl) return Error{"this binary was built without CUDA or NCCL", "--backend nccl", ""};
  return mpi(options, "auto: built without NCCL");
#endif
}

}  // namespace distsim::bench
