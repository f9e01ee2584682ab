// Parts of a report that are filled in alike however the iteration was played.
#pragma once

#include <vector>

#include "sim/engine/program/roles.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

/// low and high, from the terms of the critical cycle and the profile's own uncertainty.
void fill_range(Report& report);

/// Means over ranks, from the times of each role, that keep their sum: the running sums are rounded down, so that the parts
/// add up to the iteration exactly and none is negative.
void fill_means(Report& report, const std::vector<RankTime>& of_role, const engine::Roles& roles);

/// The times of each rank, from those of each role (one entry if all are the same), and which of them computes longest and
/// shortest.
void fill_ranks(Report& report, const std::vector<RankTime>& of_role, const engine::Roles& roles);

}  // namespace distsim::report
