#include "sim/web/traces/kept_jobs.hpp"

#include <algorithm>
#include <utility>

namespace distsim::web {

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
  if (jobs_.size() > kMostJobs) jobs_.pop_back();
}

}  // namespace distsim::web
