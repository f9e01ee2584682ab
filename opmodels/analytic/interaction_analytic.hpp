// DLRM's dot interaction of F vectors of length D, B samples.
//   unfused forward   product F x F x D a sample, gather of the F(F-1)/2 lower entries, concat with the dense vector
//   unfused backward  split, scatter of the triangle's gradient into F x F (a generic index_put sorts its indices), two
//   products, sum with the
//                     dense vector's gradient
//   fused             one kernel: inputs in, D + F(F-1)/2 values a sample out; the product stays on chip (backward: two
//   products)
// Validity: F >= 2. Source: DLRM reference (arXiv 1906.00091), FBGEMM and HugeCTR fused interaction kernels.
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_interaction(const DeviceRates& device, const graph::Interaction& op);

}  // namespace distsim::opmodels
