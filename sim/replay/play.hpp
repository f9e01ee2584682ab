// Plays a replay graph on the engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "sim/replay/build/replay_graph.hpp"

namespace distsim::replay {

/// Traces are in nanoseconds, the replay in picoseconds.
inline constexpr std::int64_t kPsPerNs = 1'000;

/// Picoseconds by node of the graph.
using ReplayCosts = std::vector<std::int64_t>;

struct ReplayTimes {
  std::vector<std::int64_t> ready, start,
      end;  ///< ps by node; ready to start: where a collective waits for other ranks from `ready` to `start`
  std::int64_t makespan = 0;
  std::uint64_t digest = 0;
};

/// The costs that were measured.
ReplayCosts measured_costs(const ReplayGraph& graph);

/// One cost for every node, none negative. Errors: a deadlock (ranks that do not belong together), named by the engine;
/// times past 2^62 ps.
Result<ReplayTimes> play(const ReplayGraph& graph, const ReplayCosts& costs);

}  // namespace distsim::replay
