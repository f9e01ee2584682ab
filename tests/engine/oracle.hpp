// Oracle: plays a program with a queue of events, one per rank and step, in the plainest way. Shares no code with the
// engine's evaluators.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/program/program.hpp"

namespace distsim::engine {

/// Times by [step][rank].
struct Schedule {
  std::vector<std::vector<std::int64_t>> ready, start, end;
  std::int64_t makespan = 0;
};

Schedule play_by_events(const Program& program);

}  // namespace distsim::engine
