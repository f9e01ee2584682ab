#include "sim/workload/graph/micro_steps.hpp"

#include <algorithm>
#include <string>

#include "base/text/counted.hpp"

namespace distsim::workload {

Result<void> check_micro_steps(std::int64_t micro_steps, std::size_t tasks_of_each) {
  const std::size_t most = kMostTasks / std::max<std::size_t>(1, tasks_of_each);
  if (micro_steps <= 1 || static_cast<std::size_t>(micro_steps) <= most) return {};
  return Error{"model.accumulation: found " + std::to_string(micro_steps) + " micro-steps of " +
                   counted(tasks_of_each, "task") + ", expected at most " + std::to_string(most),
               "", ""};
}

}  // namespace distsim::workload
