// The published sweeps of ../shared/data/collectives, each with a description of the machine it was measured on (facts in the sweeps' headers).
#pragma once

#include <string>
#include <vector>

#include "collectives/curve_library.hpp"
#include "collectives/pricer.hpp"

namespace distsim::test {

struct Sweep {
  std::string name;                  ///< file name without ending
  std::string group;                 ///< class of the index: "a100-1node", ...
  std::string system;                ///< sweeps of one system share it; empty: hardware not known well enough
  bool usable = true;                ///< false: forced algorithm, misconfigured, congested (see the index)
  collectives::LibraryCurve curve;   ///< its points, and the facts of its group
  collectives::LaunchMode mode;
};

/// Empty when the data is not there.
std::vector<Sweep> load_sweeps();

/// Absolute percentage errors of a prediction over points; `least` and up only.
struct Errors {
  std::vector<double> values;
  double median() const;
  double mean() const;
};

}  // namespace distsim::test
