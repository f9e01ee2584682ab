#include "mpi_bench/collective/ranks/lane_ranks.hpp"

#include <cstdlib>

namespace distsim::bench {

std::vector<std::string> LaneMeeting::gather(int lane, const std::string& text) {
  std::unique_lock lock(mutex_);
  const std::uint64_t round = round_;
  texts_[static_cast<std::size_t>(lane)] = text;
  ++arrived_;
  changed_.notify_all();
  if (lane == 0) {
    exchange(lock);
  } else {
    changed_.wait(lock, [&] { return round_ != round; });
  }
  const auto all = all_;  // the next round replaces it only when this lane, too, has come to it
  lock.unlock();
  return *all;
}

void LaneMeeting::exchange(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return arrived_ == shape_.lanes(); });
  auto all = unpack_lanes(processes_.gather(pack_lanes(texts_)));
  if (!all.ok()) processes_.abort(all.error().text());
  all_ = std::make_shared<const std::vector<std::string>>(std::move(all).value());
  arrived_ = 0;
  ++round_;
  changed_.notify_all();
}

void LaneRanks::end_job() const {
  meeting_.processes().end_job();
  std::abort();  // a virtual call is not known to stay away
}

LaneRanks::LaneRanks(LaneMeeting& meeting, int lane)
    : Ranks(meeting.processes().rank() * meeting.shape().lanes() + lane,
            meeting.processes().size() * meeting.shape().lanes()),
      meeting_(meeting),
      lane_(lane) {
  meet(meeting.processes().host());
}

}  // namespace distsim::bench
