// The critical path: the chain of steps, each starting the moment its predecessor ends, that leads back from the end of
// the last iteration to the start of the window. It covers the window without a gap, so the times on it sum to the
// iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/report/steady_state.hpp"

namespace distsim::report {

/// A step on the path, clipped to the window.
struct PathStep {
  StepId step;
  std::uint32_t rank = 0;
  std::int64_t begin = 0, end = 0;
};

/// In order of time. Where several predecessors end at the same moment, the one on the same stream is taken, then waits
/// in their order. A joining step is entered from the rank that arrived last (the lowest such rank).
std::vector<PathStep> critical_path(const Played& played, const SteadyState& state);

/// The path as a person reads it: names, kinds and bases; launches that follow each other on one host are merged.
std::vector<CriticalStep> describe_path(const Played& played, const SteadyState& state,
                                        const std::vector<PathStep>& path);

/// Cost of the op that a device or host-work step of `rank` carries out; nullptr for launches and step overhead.
const graph::Cost* cost_of(const Played& played, StepId step, std::uint32_t rank);

/// Kind of that op; "host" for launches and step overhead.
std::string_view kind_of_step(const Played& played, StepId step, std::uint32_t rank);

/// The path by op kind and basis, longest first. Host time spreads by kHostSpread.
std::vector<UncertainTerm> terms_of_path(const Played& played, const std::vector<PathStep>& path);

/// How far a range reaches below and above its mean, in picoseconds.
struct HalfWidths {
  std::int64_t below = 0, above = 0;
};
/// Of the path's time: the terms as independent errors; see Report::low.
HalfWidths half_widths_of(const std::vector<UncertainTerm>& terms);

/// Time shares of the bases along the path, largest first.
std::vector<BasisShare> bases_of_path(const Played& played, const std::vector<PathStep>& path);

}  // namespace distsim::report
