// Memory traffic of elementwise ops, from their recorded shapes.
#pragma once

#include <string_view>

#include "sim/profile/ops/op_flops.hpp"

namespace distsim::profile {

/// `name` is without "aten::". All inputs are read once and the result is written once: of the shape that the inputs have
/// together (broadcast) and of their widest type, or for `cat` as large as all of them. In place (`add_`) the destination is
/// read and written; `copy_`, `fill_`, `zero_`, random numbers and a destination in the argument `out` only write it. An
/// expanded input counts as what it has in memory, where strides were recorded. {}: no such op.
OpWork elementwise_traffic(std::string_view name, const traces::OpInputs& inputs);

}  // namespace distsim::profile
