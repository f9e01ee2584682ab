// Where an experiment puts its tables by itself, as the lines of a placement file.
#pragma once

#include <optional>

#include "sim/config/config.hpp"
#include "sim/workload/placement/table_plan.hpp"

namespace distsim::study {

/// Nothing of what no placement file states: a hybrid embedding, slices by rows and columns that are no grid, two slices
/// of the rows of a table on one rank. A file says where tables lie; who runs the bottom MLP and how rows meet follows from it anew.
std::optional<workload::TablePlans> own_placement(const config::Experiment& experiment);

}  // namespace distsim::study
