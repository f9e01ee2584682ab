#include "traces/timeline/running_sum.hpp"

#include <algorithm>

namespace distsim::traces {

void emit_running_sum(std::vector<CounterChange> changes, double initial, std::uint32_t counter,
                      const std::function<void(const CounterSample&)>& sink) {
  std::ranges::stable_sort(changes, {}, &CounterChange::time_ps);
  double sum = initial;
  if (changes.empty() || changes.front().time_ps > 0) sink({counter, 0, sum});
  for (std::size_t i = 0; i < changes.size(); ++i) {
    sum += changes[i].by;
    if (i + 1 == changes.size() || changes[i + 1].time_ps != changes[i].time_ps)
      sink({counter, changes[i].time_ps, std::max(0.0, sum)});
  }
}

}  // namespace distsim::traces
