// How long each stream works in an iteration: no iteration takes less than that of the busiest rank.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "sim/engine/program/roles.hpp"
#include "sim/graph/task_graph.hpp"

namespace distsim::report {

/// By stream: the sum of the durations of its steps, on the rank where it is largest.
using Busy = std::array<Duration, graph::kStreamCount>;

/// Of the first `steps` steps; stream(step) and at(step, role) say where each runs and how long.
template <class StreamOf, class At>
Busy busy_of(std::uint32_t steps, const engine::Roles& roles, StreamOf stream, At at) {
  Busy out{};
  for (std::uint32_t role = 0; role < roles.size(); ++role) {
    std::array<std::int64_t, graph::kStreamCount> sum{};
    for (StepId s(0); s < StepId(steps); s = StepId(s.value() + 1)) sum[stream(s)] += at(s, role);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(out[i], Duration::picoseconds(sum[i]));
  }
  return out;
}

}  // namespace distsim::report
