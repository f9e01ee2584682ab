// Axes of the public headers as studies take them.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "sim/api/public/studies.hpp"
#include "sim/study/sweep/axis.hpp"

namespace distsim::api {

/// Ranges are spelled out. Errors: no values, a value that is none, a key twice, a key that `sets` holds; `flag`, --vary or
/// vary, begins them.
Result<std::vector<study::SweepAxis>> study_axes(const std::vector<Axis>& axes, const std::string& flag,
                                                 const std::vector<std::string>& sets);

}  // namespace distsim::api
