// Dense products. Formula and validity: matrix_kernel.hpp.
//   compulsory bytes = batch (m k + k n + m n) * element      (fp8 writes a 16-bit result)
//   alignment        = the row pitches k and n of 16-bit and narrower operands must be multiples of 16 bytes for
//   full-width loads; each halving of
//                      the alignment narrows the loads (factors 1, 1.2, 1.7, 2.5 for 16, 8, 4, 2 bytes)
// fp32 runs on the plain lanes (TF32 off), tf32 on tensor cores from Ampere on. Errors: a dtype the device has no
// matrix unit for, dims below 1.
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_gemm(const DeviceRates& device, const graph::Gemm& gemm);

/// Seconds of a product whose dims and dtype have been checked.
double gemm_seconds(const DeviceRates& device, double batch, double m, double n, double k, graph::DType dtype);

}  // namespace distsim::opmodels
