// Sharding::planner: from a model and the cluster's budget to the planner's tables, and back to shards.
#pragma once

#include "sim/workload/placement/placement.hpp"

namespace distsim::workload {

/// Replicates the tables under the model's threshold and places the others by its planner settings (planner.hpp). With
/// budget.whole_nodes slices fall on nodes, and every GPU of the node holds an equal share of the slice's rows. Errors:
/// tables that do not fit all ranks together.
Result<void> place_by_planner(Placement& placement, const DlrmSpec& spec, const PlacementBudget& budget);

}  // namespace distsim::workload
