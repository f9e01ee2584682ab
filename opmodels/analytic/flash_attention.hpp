// Fused attention kernels: one kernel that never writes the scores. What a block of queries does on its SM, per score:
//
//   products   forward 2 (D + V) flops: Q K^T over head_dim D, P V over value_dim V; backward 2 (3 D + 2 V): the scores
//              once more, dP = dO V^T, dV, dQ, dK; widths padded to 32. At `products` of the rate of the SM's matrix unit
//   softmax    an exponential at 16 a clock and SM and lane operations at the SM's plain rate: forward 1, backward 14
//              (dS, row sums, conversions, the addresses of dQ's sums), dropout 4 more. `exposed` of it is not hidden
//              behind the products
//   time       products + softmax of all scores that blocks touch, over the SMs in waves, beside the bytes of Q, K, V, O
//
// The three shares belong to a library on an architecture: how it issues products (mma.sync reaches half of Hopper's rate
// and a quarter of Blackwell's) and how much softmax it hides. They solve these equations for the largest rates that the
// authors publish for two head sizes, at the clock of a short benchmark (DeviceSpec::clock.burst); about, in TFLOP/s
// forward / backward, no mask, 16k tokens:
//
//   library             GPU       heads of 64   heads of 128   source
//   FlashAttention 1    A100       100 /  80     120 / 100     arXiv 2307.08691, figures 4 to 6
//   FlashAttention 2    A100       192 / 165     227 / 196     the same
//   FlashAttention 2    H100       320           390 / 330     arXiv 2407.08608, figures 5 and 6
//   FlashAttention 3    H100       497 / 470     650 / 550     the same (heads of 256: 740 / -)
//   cuDNN 9             H100       470           610 / 530     the same
//   cuDNN 9             B200                    1400 / 1050    NVIDIA's cuDNN 9 notes
//   FlashAttention 4    B200                    1600 / 1100    Dao-AILab, FlashAttention 4 (up to 71 % of the peak)
//   Composable Kernel   MI300X                   500 / 330     AMD's ROCm blogs on FlashAttention 2
//
// A block is 128 queries by 128 keys; the last queries of a head are a whole block. Of a causal or windowed mask it works
// on whole blocks: a row of queries touches, on average, half a block of keys and half a block of queries more at each
// edge of the mask than count; no more than without the window.
#pragma once

#include <optional>

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

/// Seconds of a fused kernel. Precondition: a type of at most 16 bits.
double flash_seconds(const DeviceRates& device, const graph::Attention& op);

/// Of it what the SMs take, in seconds at the device's clock, beside memory: the part that goes with their clock.
double flash_compute_seconds(const DeviceRates& device, const graph::Attention& op);

/// The library that runs on the device: what `best` means there, and an older one where it does not run.
graph::AttentionLibrary library_on(const DeviceRates& device, graph::AttentionLibrary asked);

/// The library that runs in place of the one that a fused op asks for; nothing where that one runs, or none is asked for.
std::optional<graph::AttentionLibrary> library_in_place(const DeviceRates& device, const graph::Attention& op);

}  // namespace distsim::opmodels
