// The fit that the constants of configs/collectives/nccl.yaml come from, so that it can be done again with whole
// systems left out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/algorithms/model_constants.hpp"
#include "sweeps.hpp"

namespace distsim::collectives {

/// Constants that are found on sweeps; all others are NCCL's or stated by a single source. `neutral` knows of no
/// system.
struct FreeConstant {
  std::string name;
  std::function<double&(collectives::ModelConstants&)> at;
  double neutral;
};
std::vector<FreeConstant> free_constants();

/// Minimises, by coordinate search from the neutral values, the mean over systems of |ln(predicted / measured)| (at
/// most 0.5 a point; sizes from 64 MB on count half again), with a weak pull to the neutral values. A system's sweeps
/// together weigh the square root of their number. Without the sweeps of `left_out`.
collectives::ModelConstants fit_constants(const std::vector<Sweep>& sweeps, const std::string& left_out);

}  // namespace distsim::collectives
