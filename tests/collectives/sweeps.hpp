// Published sweeps, each with the facts of its machine as configs/systems has them.
#pragma once

#include <string>
#include <vector>

#include "collectives/curves/curve_library.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {

struct Sweep {
  std::string name;                 ///< file name without ending
  std::string group;                ///< class of the index: "a100-1node", ...
  std::string system;               ///< file of configs/systems that describes it
  bool usable = true;               ///< false: misconfigured, congested, hardware not stated (see the index)
  bool known_launch = true;         ///< false: times include PyTorch's dispatch
  collectives::LibraryCurve curve;  ///< its points, and the facts of its group
  collectives::LaunchMode mode;
};

std::vector<Sweep> load_sweeps();

/// Absolute percentage errors of a prediction over points.
struct Errors {
  std::vector<double> values;
  double median() const { return quantile(0.5); }
  double mean() const;
  double quantile(double q) const;  ///< 0 where there are none
  double worst() const { return quantile(1); }
};

}  // namespace distsim::collectives
