#include "mpi_bench/collective/run/issue_group.hpp"

#include <algorithm>

namespace distsim::bench {

void IssueGroup::together(Part& part, const Work& work) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  parts_.push_back(&part);
  if (static_cast<int>(parts_.size()) < expected_) {
    done_.wait(lock, [&] { return round_ != round; });
    return;
  }
  std::sort(parts_.begin(), parts_.end(), [](const Part* a, const Part* b) { return a->lane < b->lane; });
  work(parts_);  // under the lock: nobody else has anything to do
  parts_.clear();
  ++round_;
  done_.notify_all();
}

}  // namespace distsim::bench
