// The critical cycle as a person reads it, and what its times rest on.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/critical_cycle.hpp"
#include "sim/report/report.hpp"

namespace distsim::report {

// Ranks of `path` are those of `played`.

/// Names, kinds and bases; launches that follow each other on one host are merged.
std::vector<CriticalStep> describe_path(const Played& played, const std::vector<PathStep>& path);

/// Cost of the op that a device or host-work step of `rank` carries out; nullptr for launches and step overhead.
const graph::Cost* cost_of(const Played& played, StepId step, std::uint32_t rank);

/// Kind of that op; "host" for launches and step overhead.
std::string_view kind_of_step(const Played& played, StepId step, std::uint32_t rank);

/// The cycle by op kind and basis, longest first. Host time spreads by kHostSpread.
std::vector<UncertainTerm> terms_of_path(const Played& played, const std::vector<PathStep>& path);

/// How far a range reaches below and above its mean, in picoseconds.
struct HalfWidths {
  std::int64_t below = 0, above = 0;
};
/// Of the cycle's time: the terms as independent errors; see Report::low.
HalfWidths half_widths_of(const std::vector<UncertainTerm>& terms);

/// Time shares of the bases along the cycle, largest first.
std::vector<BasisShare> bases_of_path(const Played& played, const std::vector<PathStep>& path);

}  // namespace distsim::report
