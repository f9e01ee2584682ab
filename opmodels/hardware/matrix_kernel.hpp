// Time of one tiled matrix kernel, the common core of GEMM, convolution and attention.
//
//   tiles   = batch * ceil(m / tile.m) * ceil(n / tile.n) * split_k; of products with an uneven number of rows
//             m / tile.m + 1/2 instead of ceil(m / tile.m), where that is more
//   waves   = tiles / SMs; below 1 it is 1, above it is rounded up by 15 % of the way (blocks of neighbouring waves
//             overlap)
//   loop    = waves * (time of one tile on one SM at peak/SMs * main_loop * i/(i + half_tile)),
//             i = tile.m tile.n / (tile.m + tile.n)
//   feed    = bytes that all tiles load from L2 / (L2 bandwidth * operand_reuse)
//   memory  = compulsory bytes / HBM bandwidth, at least one block's bytes at 4 times an SM's fair share of it
//   time    = floor + waves * wave_seconds + overlap(loop, feed, memory) [+ reduction of the split-k partial sums]
//
// and the library's choice of tile and split is taken to be the best of the candidates.
//
// Validity: dims from 1 to 2^62 in product; checked on shapes from 1 x 64 x 64 to 32768 x 65536 x 51200 (bf16, fp16,
// fp8, fp32; V100 to B200). Sources: NVIDIA, "Matrix Multiplication Background" (tile and wave quantisation,
// alignment); CUTLASS documentation (tiles, split-k).
#pragma once

#include "opmodels/op_time.hpp"

namespace distsim::opmodels {

struct MatrixShape {
  double batch = 1, m = 0, n = 0, k = 0;
  double compulsory_bytes = 0;  ///< operands once in, result once out
  double element_bytes = 2;     ///< of an operand
  double load_penalty = 1;      ///< >= 1: unaligned or gathered operand loads slow the main loop by this factor
  bool uneven = false;          ///< m is an average over the products of the batch
  double loop_penalty = 1;      ///< >= 1: the same for work between the products, which does not touch the loads
  double max_split = 32;        ///< slices of k that the library's kernels can work on side by side
};

struct MatrixMachine {
  double flops = 0;  ///< sustained, all SMs
  double sms = 0;
  double hbm = 0;  ///< bytes/s, achievable
  double l2 = 0;   ///< bytes/s, achievable
  double l2_bytes = 0;
  double floor = 0;  ///< seconds
  const MatrixTraits* traits = nullptr;
};

/// Waves of equal blocks as time: a lone partial wave takes a whole one; later ones are spread in part (big tiles mix
/// with small ones, blocks of different waves overlap).
double quantised_waves(double waves);

MatrixMachine matrix_machine(const DeviceRates& device, double flops, bool vector_lanes);

/// What the library is taken to have chosen, and what it comes to.
struct MatrixTime {
  double seconds = 0;  ///< with the floor of an empty kernel
  Tile tile{};
  double split = 1;
  double waves = 1;   ///< tiles over SMs, not rounded
  double loop = 0;    ///< seconds of the main loop
  double memory = 0;  ///< seconds of the memory traffic
};

MatrixTime matrix_time(const MatrixMachine& machine, const MatrixShape& shape);

}  // namespace distsim::opmodels
