// Which of the library's curves apply to a kind of collective on a group, how much each is trusted, and how it is
// transferred.
#pragma once

#include <vector>

#include "collectives/curves/carried_curve.hpp"
#include "collectives/curves/curve_library.hpp"

namespace distsim::collectives {

/// The pair of factors fitted to a curve's system. Worked out once, when curves are loaded.
Calibration calibration_of(const Curve& curve, const topology::GroupFacts& facts,
                           const ModelConstants& constants = shipped_constants());

/// The curve without what the host's launch adds to its times (curves/launch_floor.hpp).
Curve curve_without_launch(const Curve& curve, const topology::GroupFacts& facts,
                           const ModelConstants& constants = shipped_constants());

/// Kinds that NCCL does with rings, trees and switches; they share links, protocols and channels, and of more members each
/// sends at least as many bytes over the slowest link, in more steps.
bool is_nccl_collective(graph::CollectiveKind kind);

/// How evidence for `mode` is asked for: without restrictions of NCCL's choice that no curve of this kind was measured
/// with on such a group. What such a restriction costs is then the ratio of the two analytic models, so that it costs
/// nothing where the choice stays the same, and is never cheaper than the free choice.
LaunchMode mode_of_evidence(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                            const std::vector<LibraryCurve>& library);

/// Curves of this kind on comparable groups; where none of the system itself was measured on this very group, those of
/// other kinds too, as NCCL's collectives share links and protocols. The most trusted first, at most eight, three
/// of them of other groups or kinds. Empty: analytic model only. A curve inside a node and one across nodes are comparable only
/// where the same link limits both.
std::vector<Evidence> evidence_for(graph::CollectiveKind kind, const topology::GroupFacts& facts,
                                   const AnalyticModel& model, const LaunchMode& mode,
                                   const std::vector<LibraryCurve>& library, const ModelConstants& constants);

}  // namespace distsim::collectives
