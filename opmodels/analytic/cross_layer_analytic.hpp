// One DCN-v2 cross layer, x0 * (V(Ux) + b) + x, on B samples of width W with rank R (0: one full W x W matrix).
//   forward   the products, then a multiply and an add (each reads two tensors, writes one)
//   backward  two products for each of the forward's, gradients of x0 and of the product (multiplies), their
//   accumulation, the bias's column sum
// Source: DCN V2, arXiv 2008.13535. Validity: W, B at least 1; R from 0 to W.
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_cross_layer(const DeviceRates& device, const graph::CrossLayer& op);

}  // namespace distsim::opmodels
