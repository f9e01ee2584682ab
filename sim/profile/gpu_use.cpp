#include "sim/profile/gpu_use.hpp"

#include <algorithm>

#include "base/median.hpp"

namespace distsim::profile {

void Occupancy::add(const Occupancy& other) {
  all_time += other.all_time;
  block_time += other.block_time;
  kernel_time += other.kernel_time;
  sm_time += other.sm_time;
  warp_time += other.warp_time;
}

void Occupancy::add(std::int64_t time, const traces::KernelGeometry& geometry) {
  all_time += time;
  if (geometry.blocks_per_sm >= 0) {
    block_time += time;
    sm_time += static_cast<double>(time) * std::min(1.0, static_cast<double>(geometry.blocks_per_sm));
  }
  if (geometry.occupancy < 0) return;
  kernel_time += time;
  warp_time += static_cast<double>(time) * static_cast<double>(geometry.occupancy);
}

GpuUse::GpuUse(const traces::TraceJob& job, const traces::TraceRank& rank) : job_(job) {
  std::vector<Interval> busy, own;
  for (const traces::DeviceRecord& d : rank.device_records) {
    busy.push_back({d.start_ns, d.end_ns()});
    if (d.kind == traces::DeviceRecordKind::kernel) kernels_.push_back(&d);
  }
  for (const traces::ProfilerWork& w : rank.profiler_work) own.push_back({w.start_ns, w.start_ns + w.duration_ns});
  for (const traces::MemoryRecord& m : rank.memory) memory_[m.device].push_back(m);
  std::ranges::stable_sort(kernels_, {}, &traces::DeviceRecord::start_ns);
  profiler_ = IntervalSet::union_of(std::move(own));
  profiler_idle_ = profiler_.minus(IntervalSet::union_of(std::move(busy)));
}

void GpuUse::fill(StepProfile& step) const {
  const std::int64_t begin = step.step.start_ns, end = step.step.end_ns;
  for (auto k = std::ranges::lower_bound(kernels_, begin, {}, &traces::DeviceRecord::start_ns);
       k != kernels_.end() && (*k)->start_ns < end; ++k)
    step.occupancy.add((*k)->duration_ns,
                       (*k)->geometry == traces::kNone ? traces::KernelGeometry{} : job_.geometries[(*k)->geometry]);
  step.memory = memory_within(begin, end);
  step.profiler = profiler_.covered(begin, end);
  step.profiler_idle = profiler_idle_.covered(begin, end);
}

/// What was held when the step began was said by the last record before it; failing that by the first within, as its total less
/// its change.
MemoryUse GpuUse::memory_within(std::int64_t begin, std::int64_t end) const {
  MemoryUse most;
  for (const auto& [device, records] : memory_) {
    const auto first = std::ranges::lower_bound(records, begin, {}, &traces::MemoryRecord::start_ns),
               last = std::ranges::lower_bound(records, end, {}, &traces::MemoryRecord::start_ns);
    if (first == records.begin() && first == last) continue;
    MemoryUse use;
    use.begin = first != records.begin() ? (first - 1)->allocated : first->before;
    use.peak = use.end = use.begin;
    for (auto m = first; m != last; ++m) {
      use.peak = std::max(use.peak, m->allocated);
      use.end = m->allocated;
    }
    if (use.peak > most.peak) most = use;
  }
  return most;
}

std::int64_t records_in_steps(const traces::TraceRank& rank, const RankProfile& profile) {
  std::vector<std::int64_t> starts;
  for (const traces::HostRecord& h : rank.host_records) starts.push_back(h.start_ns);
  std::ranges::sort(starts);
  std::int64_t records = 0;
  for (const StepProfile& s : profile.steps)
    records += std::ranges::lower_bound(starts, s.step.end_ns) - std::ranges::lower_bound(starts, s.step.start_ns);
  return records;
}

ProfilerCost profiler_cost(std::int64_t records, const RankProfile& profile, const ProfileOptions& options) {
  ProfilerCost cost;
  cost.per_record = static_cast<double>(options.record_ns);
  std::vector<std::int64_t> measured;
  for (const StepProfile& s : profile.steps) {
    if (s.measured > 0) measured.push_back(s.measured);
  }
  if (records < 0)
    cost.records_per_step = -1;
  else if (!profile.steps.empty())
    cost.records_per_step = static_cast<double>(records) / static_cast<double>(profile.steps.size());
  if (measured.empty()) return cost;
  cost.with = median(std::move(measured));
  if (options.unprofiled_ns <= 0) return cost;
  cost.without = options.unprofiled_ns;
  if (cost.with > cost.without && cost.records_per_step > 0)
    cost.per_record = static_cast<double>(cost.with - cost.without) / cost.records_per_step;
  return cost;
}

}  // namespace distsim::profile
