// Scaled dot-product attention of B x H heads, q_len x kv_len scores, head_dim D.
//   flash forward    2 products, 4 q kv D flops a head (causal: half), tiles of 128 queries; reads Q, K, V, writes O
//   flash backward   5 products (scores are computed again), reads Q, K, V, O, dO, writes dQ, dK, dV
//   unfused forward  product, scale and mask, softmax, [dropout,] product; the scores travel through memory between the
//   kernels unfused backward two products for each, softmax and [dropout] gradients, scale
// Flash kernels reach a share of the sustained matrix rate (measured by their authors): 0.70 forward and 0.55 backward
// on Ampere and Ada (FlashAttention-2, arXiv 2307.08691), 0.65 and 0.50 from Hopper on (FlashAttention-3, arXiv
// 2407.08608), 0.45 and 0.35 before. Validity: all sizes at least 1; flash needs a 16-bit dtype (fp8 from Hopper on).
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

Result<OpTime> price_attention(const DeviceRates& device, const graph::Attention& op);

}  // namespace distsim::opmodels
