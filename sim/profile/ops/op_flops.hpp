// Operations and least traffic of PyTorch ops, from their recorded shapes.
#pragma once

#include <string_view>

#include "traces/trace.hpp"

namespace distsim::profile {

struct OpWork {
  double flops = 0;  ///< 0: not known for this op
  double bytes = 0;  ///< inputs read once and outputs written once; 0 not known
  /// Of them, what is certain to be read and written: results, and the largest input, unless its strides were not recorded,
  /// as it may be expanded (one row in memory for many); others may be the same tensor.
  double least_bytes = 0;
};

/// A multiplication and an addition count as two. Products (mm, addmm, bmm, baddbmm, linear, matmul of two or three
/// dimensions); convolutions (2 N K OH OW C/g R S; transposed 2 N C H W K/g R S; backward: for each of the gradients of x
/// and w that is asked for as much) where stride and padding are recorded; attention (attention_flops.hpp). Elementwise ops:
/// only traffic (elementwise_traffic.hpp).
OpWork op_work(std::string_view name, const traces::OpInputs& inputs);

/// Bytes of an element of `tensor`; 0: its type is not known.
double element_bytes(const traces::TensorShape& tensor);

/// "8192x4096, 4096x1536 (Half)"
std::string shapes_text(const traces::OpInputs& inputs);

}  // namespace distsim::profile
