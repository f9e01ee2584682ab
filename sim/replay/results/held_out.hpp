// Leave one step out: a step's order of work with costs from the other steps.
//
// Nodes of a step are matched with those of the other steps by rank, role, stream, what they do (name of the record,
// and of the framework op that launched it) and their place among equals within the step. A node's cost becomes the
// mean of its counterparts' costs, over the six nearest of the steps that took about as long as most do (within a
// factor 1.5 of the middle of the densest half of the others: no warm-up, no checkpoint, no stall). Where a step has
// more of a kind than every other one, the median cost of the role on its rank is taken: nothing of the step's own
// times is used.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/replay/results/step_results.hpp"

namespace distsim::replay {

/// The results of each step that has a measured time, each predicted from the others of its rank. Empty where no rank
/// has three steps. Cost: as many plays as the rank with the most steps has steps.
Result<std::vector<StepResult>> predict_held_out_steps(const ReplayGraph& graph);

}  // namespace distsim::replay
