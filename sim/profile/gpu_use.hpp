// Occupancy, memory and the profiler's own work within a step.
#pragma once

#include <map>
#include <vector>

#include "base/intervals.hpp"
#include "sim/profile/profile.hpp"

namespace distsim::profile {

class GpuUse {
 public:
  GpuUse(const traces::TraceJob& job, const traces::TraceRank& rank);
  /// Sets occupancy, memory, profiler and profiler_idle from the step's window.
  void fill(StepProfile& step) const;

 private:
  MemoryUse memory_within(std::int64_t begin, std::int64_t end) const;

  const traces::TraceJob& job_;
  std::vector<const traces::DeviceRecord*> kernels_;                   ///< by start
  std::map<std::uint32_t, std::vector<traces::MemoryRecord>> memory_;  ///< by device, then start
  IntervalSet profiler_, profiler_idle_;
};

/// Records of the host that begin in the steps of a rank; twice where two steps overlap.
std::int64_t records_in_steps(const traces::TraceRank& rank, const RankProfile& profile);

/// From `options`, with so many records of the host in all steps (-1: not known): per_record stays 0 where neither is given,
/// or the profiler cost nothing.
ProfilerCost profiler_cost(std::int64_t records, const RankProfile& profile, const ProfileOptions& options);

}  // namespace distsim::profile
