// What `distsim curves` does: measurements of a system in, one curve file out; and a look at what a curve file holds
// and lacks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/collective_options.hpp"
#include "collectives/curves/curve_set.hpp"
#include "topology/devices/cluster_spec.hpp"
#include "topology/devices/known_devices.hpp"

namespace distsim::collectives {

struct ImportRequest {
  std::span<const std::string> logs;            ///< nccl-tests logs or curve files, at least one
  std::string system, device;                   ///< ClusterSpec::name and its device
  std::string date;                             ///< of the measurement, ISO; may be empty
  LogHints hints{};                             ///< for logs that do not state it
  std::optional<Launch> launch{};               ///< absent: as stated in the log
  bool cuda_graph = false;                      ///< the logs are of runs from a CUDA graph, whether they say so or not
  topology::KnownDevices devices{};             ///< what GPUs a log may name
  std::optional<topology::ClusterSpec> spec{};  ///< of the system: its links are held against the figures
  std::int64_t compute_capability = 0;          ///< of its device
};

/// All curves of the logs, in their order. Curves of the same kind stay apart: the cost model combines them with their
/// spread. Errors: those of read_curve_file, logs whose hardware lines name different GPUs or
/// another one than the system has, and figures that its links do not allow (link_limits.hpp).
Result<CurveSet> import_curves(const ImportRequest& request);

/// A table and bars of the bus bandwidth for each curve, then what is missing: kinds without a curve, sizes left out at
/// either end or between.
std::string show_curves(const CurveSet& set);

}  // namespace distsim::collectives
