// Operations and least traffic of PyTorch ops, from their recorded shapes.
#pragma once

#include <string_view>

#include "traces/trace.hpp"

namespace distsim::profile {

struct OpWork {
  double flops = 0;  ///< 0: not known for this op
  double bytes = 0;  ///< inputs read once and outputs written once; 0 not known
};

/// A multiplication and an addition count as two. Products (mm, addmm, bmm, baddbmm, linear, matmul of two or three
/// dimensions), convolutions (2 N K OH OW C/g R S; backward: for each of the two gradients as much) where stride and
/// padding are recorded, attention (4 B H Sq Skv D; backward 2.5 times that). Elementwise ops: only traffic.
OpWork op_work(std::string_view name, const traces::OpInputs& inputs);

/// "8192x4096, 4096x1536 (Half)"
std::string shapes_text(const traces::OpInputs& inputs);

}  // namespace distsim::profile
