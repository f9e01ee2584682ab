// Axes of the public headers as studies take them.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "sim/api/public/studies.hpp"
#include "sim/study/sweep/axis.hpp"

namespace distsim::api {

/// Ranges are spelled out. Errors: no values, a value that is none, more than `most` of a key, before they are made, a key
/// twice, a key that `sets` holds; `flag`, --vary or vary, begins them.
Result<std::vector<study::SweepAxis>> study_axes(const std::vector<Axis>& axes, const std::string& flag,
                                                 const std::vector<std::string>& sets,
                                                 std::size_t most = study::kMostValues);

/// How many values there are of each key, without making them. Errors: a key or a value that is none.
Result<std::vector<double>> counts_of(const std::vector<Axis>& axes, const std::string& flag);

}  // namespace distsim::api
