// How many micro-steps an iteration may have: its graph holds the tasks of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace distsim::workload {

/// Tasks of one iteration. Chosen: with their prices and steps they take about 200 bytes each, 800 MB in all.
inline constexpr std::size_t kMostTasks = 4'000'000;

/// Error: micro-steps of so many tasks each that there are more than kMostTasks in all.
Result<void> check_micro_steps(std::int64_t micro_steps, std::size_t tasks_of_each);

}  // namespace distsim::workload
