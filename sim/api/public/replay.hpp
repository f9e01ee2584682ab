// Recorded traces, played again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment.hpp"

namespace distsim::api {

struct ReplayRequest {
  std::vector<std::string> traces;       ///< files, folders or patterns, all of one job
  std::optional<Experiment> experiment;  ///< whose cluster and device they are replayed on
  bool priced = false;                   ///< one execution trace without times, priced from its shapes

  std::string step_pattern;               ///< profiles: regular expression of the annotations that mark an iteration
  std::string measured_on;                ///< profiles: system or device, if they do not state it
  std::vector<std::string> remove, fuse;  ///< profiles: regular expressions of kernels to leave out, or to join
  bool leave_one_step_out = false;        ///< profiles: predict each step from the others

  std::string network, network_system, groups;  ///< Chakra: files, instead of `experiment`
  /// Chakra: a single trace is replicated to so many, 1 to 2^24; profiles: they are moved to so many. None: not said.
  std::optional<std::uint32_t> ranks;
  bool recorded_collectives = false;  ///< Chakra
  double compute_scale = 1;           ///< Chakra: factor of recorded kernels, 1e-6 to 1e6
  Stop stop = {};
};

struct Replay {
  std::string json, csv, text;  ///< what `distsim replay` writes and prints
};

/// Throws ConfigError, Interrupted.
DISTSIM_API Replay replay(const ReplayRequest& request);

}  // namespace distsim::api
