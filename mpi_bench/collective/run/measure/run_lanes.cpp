#include "mpi_bench/collective/run/measure/run.hpp"

#include <deque>
#include <string>
#include <system_error>
#include <thread>

#include "mpi_bench/collective/ranks/issue_group.hpp"
#include "mpi_bench/collective/ranks/lane_ranks.hpp"

namespace distsim::bench {

Result<Outcome> run_lanes(const RunContext& processes, const std::function<Result<Outcome>(const RunContext&)>& job) {
  const LaneShape shape = processes.options.lanes;
  LaneMeeting meeting(processes.ranks, shape);
  std::deque<IssueGroup> issue_groups(static_cast<std::size_t>(shape.threads));
  // What a lane throws ends the program: the others wait for it.
  const auto run_lane = [&](int lane) noexcept -> Result<Outcome> {
    const LaneRanks ranks(meeting, lane);
    ChosenBackend chosen = processes.chosen;
    if (shape.gpus > 1) chosen.issue_group = &issue_groups[static_cast<std::size_t>(place_of(lane, shape).thread)];
    return job({processes.options, ranks, chosen, processes.watchdog, processes.clock, processes.interrupted,
                processes.flags});
  };
  std::vector<std::thread> others;
  try {
    for (int lane = 1; lane < shape.lanes(); ++lane) others.emplace_back([&run_lane, lane] { (void)run_lane(lane); });
  } catch (const std::system_error& e) {
    processes.ranks.abort("cannot start a thread for each of " + std::to_string(shape.lanes()) + " ranks: " + e.what());
  }
  Result<Outcome> outcome = run_lane(0);
  for (std::thread& other : others) other.join();
  return outcome;
}

}  // namespace distsim::bench
