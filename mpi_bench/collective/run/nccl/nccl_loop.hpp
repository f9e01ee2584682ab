// Loops of NCCL calls on the GPUs that one thread drives: one, or several of which every call is one NCCL group.
#pragma once

#include <span>

#include "mpi_bench/collective/ranks/issue_group.hpp"
#include "mpi_bench/collective/run/nccl/nccl_lane.hpp"

namespace distsim::bench {

/// One GPU's share of a loop: what goes in, and what came of it.
struct NcclPart : IssueGroup::Part {
  const NcclLane* gpu = nullptr;
  const Call* call = nullptr;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  bool blocking = false;  ///< every call is waited for; the same for all parts
  LoopTimes times;
  double seconds = 0;
  Result<void> outcome;
};
using NcclParts = std::span<NcclPart* const>;

/// `calls` calls, waited for: seconds of each part.
Result<void> bare_nccl_loop(NcclParts parts, int calls);
/// The mean is of a loop that holds nothing but the calls; the times of the samples come from a second loop with events
/// in it.
Result<void> timed_nccl_loop(NcclParts parts, const LoopShape& loop);
/// As in nccl-tests: one graph a GPU of all iterations, launched several times; a sample is a launch's mean iteration.
Result<void> timed_nccl_graph(NcclParts parts, int iterations, int launches);

}  // namespace distsim::bench
