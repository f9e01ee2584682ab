// Rates that begin and end as the samples of a counter.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "traces/timeline/slices.hpp"

namespace distsim::traces {

struct CounterChange {
  std::int64_t time_ps = 0;
  double by = 0;
};

/// The running sum of changes, from `initial` at time 0 on: one sample for each moment at which it changes, never below
/// 0.
void emit_running_sum(std::vector<CounterChange> changes, double initial, std::uint32_t counter,
                      const std::function<void(const CounterSample&)>& sink);

}  // namespace distsim::traces
