// ArchTraits: the few constants that describe how well an architecture's libraries use its hardware. One set per
// architecture (compute capability), never per GPU or shape. Chosen against the public measurements named in docs (data
// sources): see each op model for what they mean there.
#pragma once

#include <cstdint>
#include <span>

namespace distsim::opmodels {

/// Output tile of one thread block (or cluster share) of a matrix kernel, as cuBLAS ships them.
struct Tile {
  int m, n;
};

/// How the matrix kernels of one architecture and one unit (tensor cores, or plain FMA lanes) behave.
struct MatrixTraits {
  double main_loop =
      0.90;  ///< share of the sustained peak that the main loop of a very large tile would reach; above 1 for
             ///< lanes that hold a higher clock than the tensor cores the sustained clock is stated for
  double half_tile =
      8;  ///< tile intensity m n / (m + n) at which the main loop is at half of that; larger: big tiles matter more
  double wave_seconds = 1e-6;  ///< fill and drain of a wave: first loads, epilogue
  double operand_reuse =
      2;  ///< loads from L2 that blocks share (multicast, L1): tiles are fed at this multiple of the L2 bandwidth
  double hbm_efficiency = 0.8;  ///< share of the data sheet's memory bandwidth that a matrix kernel draws
  double sms = 108;             ///< of the part that the constants were chosen on
  std::span<const Tile> tiles;
};

struct ArchTraits {
  int compute_capability;  ///< applies from here up to the next entry
  MatrixTraits tensor;
  MatrixTraits vector;    ///< fp32 and fp64 without tensor cores
  double hbm_efficiency;  ///< streaming share of the data sheet's memory bandwidth
  double l2_efficiency;   ///< the same for L2
  /// SMs of the part that the constants were chosen on: what blocks in flight take from each other is counted for it, so
  /// that a part with more SMs is not slower for holding more blocks than its memory feeds.
  double sms() const { return vector.sms; }
};

/// The entry for a compute capability (70, 75, 80, ...); below the first the first, above the last the last.
const ArchTraits& arch_traits(std::int64_t compute_capability);

}  // namespace distsim::opmodels
