// Which types a precision means: in matrix units, in memory, on the wire.
#pragma once

#include "sim/workload/specs/framework_spec.hpp"
#include "sim/workload/specs/model_spec.hpp"

namespace distsim::workload {

struct Numerics {
  graph::DType matrix = graph::DType::fp32;       ///< operands of matrix products and convolutions
  graph::DType activation = graph::DType::fp32;   ///< activations and their gradients in memory
  graph::DType gradient = graph::DType::fp32;     ///< weight gradients on the wire and as the optimizer reads them
  graph::Scaling scaling = graph::Scaling::none;  ///< of operands of 8 bits and fewer
  bool mixed = false;                             ///< 16-bit or 8-bit arithmetic with fp32 master weights
};

/// fp32 and tf32 keep everything as fp32; fp16 and bf16 are mixed precision; fp8 multiplies in fp8 and stores bf16.
inline Numerics numerics_of(Precision precision, const FrameworkSpec& framework) {
  const auto mixed = [&](graph::DType matrix, graph::DType stored, graph::Scaling scaling = graph::Scaling::none) {
    return Numerics{matrix, stored, framework.gradients.half_precision ? stored : graph::DType::fp32, scaling, true};
  };
  switch (precision) {
    case Precision::fp32:
      return {};
    case Precision::tf32:
      return {graph::DType::tf32, graph::DType::fp32, graph::DType::fp32, graph::Scaling::none, false};
    case Precision::fp16:
      return mixed(graph::DType::fp16, graph::DType::fp16);
    case Precision::bf16:
      return mixed(graph::DType::bf16, graph::DType::bf16);
    case Precision::fp8:
      return mixed(graph::DType::fp8, graph::DType::bf16, graph::Scaling::delayed);
    case Precision::fp8_current:
      return mixed(graph::DType::fp8, graph::DType::bf16, graph::Scaling::current);
    case Precision::fp8_blockwise:
      return mixed(graph::DType::fp8, graph::DType::bf16, graph::Scaling::blockwise);
    case Precision::mxfp8:
      return mixed(graph::DType::fp8, graph::DType::bf16, graph::Scaling::mx);
    case Precision::nvfp4:
      return mixed(graph::DType::fp4, graph::DType::bf16, graph::Scaling::nv);
  }
  CHECK(false) << "precision " << static_cast<int>(precision);
  return {};
}

}  // namespace distsim::workload
