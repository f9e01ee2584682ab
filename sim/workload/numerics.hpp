// Which types a precision means: in matrix units, in memory, on the wire.
#pragma once

#include "sim/workload/framework_spec.hpp"
#include "sim/workload/model_spec.hpp"

namespace distsim {

struct Numerics {
  DType matrix = DType::fp32;      ///< operands of matrix products and convolutions
  DType activation = DType::fp32;  ///< activations and their gradients in memory
  DType gradient = DType::fp32;    ///< weight gradients on the wire and as the optimizer reads them
  bool mixed = false;              ///< 16-bit or 8-bit arithmetic with fp32 master weights
};

/// fp32 and tf32 keep everything as fp32; fp16 and bf16 are mixed precision; fp8 multiplies in fp8 and stores bf16.
inline Numerics numerics_of(Precision precision, const FrameworkSpec& framework) {
  const auto mixed = [&](DType matrix, DType stored) {
    return Numerics{matrix, stored, framework.half_precision_gradients ? stored : DType::fp32, true};
  };
  switch (precision) {
    case Precision::fp32: return {};
    case Precision::tf32: return {DType::tf32, DType::fp32, DType::fp32, false};
    case Precision::fp16: return mixed(DType::fp16, DType::fp16);
    case Precision::bf16: return mixed(DType::bf16, DType::bf16);
    case Precision::fp8: return mixed(DType::fp8, DType::bf16);
  }
  CHECK(false) << "precision " << static_cast<int>(precision);
  return {};
}

}  // namespace distsim
