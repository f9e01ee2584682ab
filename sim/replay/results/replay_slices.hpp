// A replay as slices for the timeline writers: what was measured, and what was played.
#pragma once

#include "sim/replay/play.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::replay {

/// The trace itself: framework ops, annotations and calls on host threads, kernels and copies on streams, launches as
/// flows. Times from the trace's first moment on.
traces::SliceSource measured_slices(const ReplayGraph& graph);

/// A played program: calls, kernels and copies; a collective that waits for other ranks has a slice of its own for
/// that. The members are joined by a flow. All arguments must outlive the source.
traces::SliceSource played_slices(const ReplayGraph& graph, const ReplayTimes& times);

/// Slices that either of them would write at most.
std::int64_t count_slices(const ReplayGraph& graph);

}  // namespace distsim::replay
