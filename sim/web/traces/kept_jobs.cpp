#include "sim/web/traces/kept_jobs.hpp"

#include <algorithm>
#include <utility>

namespace distsim::web {
namespace {

std::uint64_t records_of(const traces::TraceJob& job) {
  std::uint64_t sum = 0;
  for (const traces::TraceRank& rank : job.ranks) sum += rank.host_records.size() + rank.device_records.size();
  return sum;
}

}  // namespace

std::shared_ptr<const traces::TraceJob> KeptJobs::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(jobs_, key, &Kept::key);
  if (it == jobs_.end()) return nullptr;
  std::rotate(jobs_.begin(), it, it + 1);
  return jobs_.front().job;
}

void KeptJobs::keep(std::string key, std::shared_ptr<const traces::TraceJob> job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_front({std::move(key), std::move(job)});
  std::uint64_t records = 0;
  std::size_t kept = 0;
  for (const Kept& k : jobs_) {
    records += records_of(*k.job);
    if (kept > 0 && (records > kMostRecords || kept == kMostJobs)) break;
    ++kept;
  }
  jobs_.resize(kept);
}

}  // namespace distsim::web
