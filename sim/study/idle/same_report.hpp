// Whether two predictions are the same, to the last event.
#pragma once

#include "sim/graph/task_graph.hpp"
#include "sim/report/report.hpp"

namespace distsim::study::idle {

/// All steps begin and end at the same time, with the same ranges and the same memory, and the same ranks have the same
/// tables. Words that only repeat what the experiment says, as those of a layout, are no figures.
bool same_figures(const report::Report& a, const report::Report& b);

/// What sets the period, and what would if that took no time: a report shows both. REQUIRES: Detail::report of both.
bool same_limits(const report::Report& a, const report::Report& b);

/// False where two graphs differ for certain. What their ops cost is compared later, and what their dependencies change:
/// one that others imply changes nothing.
bool alike(const graph::TaskGraph& a, const graph::TaskGraph& b);

/// Whether all ops of two graphs are the same, in their order.
bool same_ops(const graph::TaskGraph& a, const graph::TaskGraph& b);

}  // namespace distsim::study::idle
