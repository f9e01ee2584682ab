// CurveLibrary: the measured curves that may apply to a system, each with the facts of the group it was measured on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/calibration.hpp"
#include "collectives/collective_models.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

/// same_network: another system's, with other GPUs behind the same NICs; curves across nodes only.
enum class Origin : std::uint8_t { user, own_system, sibling_system, same_network };

/// Whether it was measured on the system itself, or named by the user for it.
inline bool is_own(Origin origin) { return origin == Origin::user || origin == Origin::own_system; }

struct LibraryCurve {
  Curve curve;
  topology::GroupFacts
      facts;  ///< of the group that was measured, on the hardware as it is described in configs/systems; of the same
              ///< network, on the hardware of the system that was measured
  Origin origin = Origin::own_system;
  std::string source;         ///< a few words for Cost::source, printable
  Calibration calibration{};  ///< found on it; without points: not worked out yet
  std::string device{};       ///< what it was measured on, in the words of its file; may be empty
};

/// The system as its own file describes it, with the links that curves were measured on and the device that is asked for;
/// nothing where there is no such file. Where the user's own curves apply: the file that the experiment names (CollectiveOptions::described).
Result<std::optional<topology::ClusterSpec>> described_system(const topology::Topology& topology,
                                                              const CollectiveOptions& options);

/// That system with as many GPUs as the topology, where the topology's links differ from it (`--set
/// cluster.nic.bandwidth`); nothing where they are the same.
std::optional<topology::Topology> as_described(topology::ClusterSpec described, const topology::Topology& topology);

std::int64_t compute_capability_of(const topology::Topology& topology);

/// Whether the links of a system allow what its curves say (link_limits.hpp). Adds to `remarks` the curves with single times
/// far above the model's.
Result<void> check_curves(const CurveSet& set, const topology::ClusterSpec& spec, std::int64_t compute_capability,
                          const std::string& file, std::vector<std::string>& remarks);

/// Curves of `options.curve_files` (whatever their system) and those of `options.curve_dirs` whose `system` or
/// `also_for` or `same_network` names the topology's system, by its name or an alias. A file of a run that did not end is an error unless `options.allow_partial`.
/// A file hides those of the same name in later folders. The measured hardware is `<folder>/../systems/<system>.yaml`
/// of the curve's folder or of the first one after it that has it, else the topology itself; of the user's curves, the system
/// as described_system has it. So a changed link rate (`--set cluster.nic.bandwidth`) scales measured curves instead of being
/// ignored. `remarks`: what there is to say of
/// the user's files (curve_provenance.hpp; what the reader says, rows left out among it) is added. The last of several folders
/// came with the program; of files of the others, the systems that they name and that have no file are among it.
Result<std::vector<LibraryCurve>> load_curves(const topology::Topology& topology, const CollectiveOptions& options,
                                              const ModelConstants& constants = shipped_constants(),
                                              std::vector<std::string>* remarks = nullptr);

}  // namespace distsim::collectives
