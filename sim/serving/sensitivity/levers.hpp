// What can be better or worse about a serving experiment: its GPUs, its links, its load, its batches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {

struct Lever {
  std::string name;   ///< "host_bandwidth", as in the column `resource`; "gpu_speed:rtx_2060" of one kind of GPU
  std::string words;  ///< "host bandwidth"
  std::string level;  ///< gpu, memory, pcie, nvlink, nic, load or batching
  /// Makes it so many times as good: bandwidths, speeds, counts and sizes are multiplied, times and rates of arrival
  /// divided. Either of the description before it is compiled, or of what was compiled; the other is empty.
  /// The first says whether what it multiplies became another, and where it cannot be done.
  std::function<Result<bool>(ServingSpec&, double factor)> of_spec;
  std::function<void(Experiment&, double factor)> of_experiment;
  bool has_limit = false;                   ///< a number of things, of which there are not infinitely many
  std::string why_idle = "it is not used";  ///< where another value leaves the experiment as it is
};

/// Those that an experiment has, in the order of the table.
std::vector<Lever> levers_of(const ServingSpec& spec, const Experiment& experiment);

}  // namespace distsim::serving
