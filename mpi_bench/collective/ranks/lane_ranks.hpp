// Ranks that are threads of a process, each driving one GPU, over the ranks that are processes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "mpi_bench/collective/ranks/lanes.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"

namespace distsim::bench {

/// Where the lanes of one process meet. Only lane 0 talks to the other processes, always from its own thread, as
/// MPI_THREAD_FUNNELED wants it.
class LaneMeeting {
 public:
  LaneMeeting(const Ranks& processes, LaneShape shape)
      : processes_(processes), shape_(shape), texts_(static_cast<std::size_t>(shape.lanes())) {}
  const Ranks& processes() const { return processes_; }
  const LaneShape& shape() const { return shape_; }

  /// All lanes of all processes together: the texts of all, in rank order.
  std::vector<std::string> gather(int lane, const std::string& text);

 private:
  void exchange(std::unique_lock<std::mutex>& lock);

  const Ranks& processes_;
  const LaneShape shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::shared_ptr<const std::vector<std::string>> all_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
};

/// One lane's view of the job. All lanes of all processes make theirs together.
class LaneRanks : public Ranks {
 public:
  LaneRanks(LaneMeeting& meeting, int lane);
  std::string carrier() const override { return meeting_.processes().carrier(); }
  void barrier() const override { (void)gather(""); }
  std::vector<std::string> gather(const std::string& text) const override { return meeting_.gather(lane_, text); }
  [[noreturn]] void end_job() const override;

 private:
  LaneMeeting& meeting_;
  const int lane_;
};

}  // namespace distsim::bench
