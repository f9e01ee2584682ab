// 2-d convolution as an implicit matrix product per group (matrix_kernel.hpp), with P = out_h, Q = out_w:
//   forward          m = N P Q,  n = K/groups,      k = C/groups R S
//   backward_data    m = N H W,  n = C/groups,      k = K/groups R S * PQ/(HW)    (only taps that meet an output)
//   backward_weight  m = K/groups, n = C/groups R S, k = N P Q
//   backward         data and weight gradient, one after the other
// Winograd: 3x3, stride 1, dilation 1 on plain fp32 lanes multiplies less; the gain is kept to what cuDNN reaches, and
// the tile transforms move the tensors once more. Depthwise and narrow groups (fewer than 8 channels a group) have no
// matrix kernel: memory bound, plain lanes. NCHW on tensor cores pays a transpose of input and output. Validity: out_h
// and out_w at least 1, C and K divisible by groups. Source: cuDNN documentation; Lavin & Gray, arXiv 1509.09308
// (Winograd).
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_conv2d(const DeviceRates& device, const graph::Conv2d& conv);

}  // namespace distsim::opmodels
