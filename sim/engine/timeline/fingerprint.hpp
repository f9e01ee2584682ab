// Fingerprint of a timeline: one 64-bit number over all (step, rank, ready, start, end).
//
//   row hash   h(v) = sum over ranks r of w(r) * v[r]   mod 2^64,   w(1024 k + j) = column(j) * block(k), both
//   pseudo-random and odd digest        = mix(ranks, steps) + sum over steps s of mix(s, h(ready), h(start), h(end))
//
// h is linear, so a uniform row hashes in O(1), to the same as the row written out, and h(start + duration) needs no
// pass where both parts are known. Sums commute, so the order of evaluation does not matter. Not a cryptographic hash:
// it tells accidents apart, not adversaries.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/rows/row_kernels.hpp"
#include "sim/engine/timeline/timeline.hpp"

namespace distsim::engine {

class Fingerprint {
 public:
  static constexpr std::size_t kBlock = 1024;  ///< ranks of a block

  explicit Fingerprint(std::uint32_t ranks);

  std::uint64_t of_uniform(std::int64_t value) const { return static_cast<std::uint64_t>(value) * sum_of_weights_; }
  /// Part of a row's hash that block k contributes (ranks 1024 k and the `n` <= 1024 from there on).
  static std::uint64_t of_block(const RowKernels& kernels, const std::int64_t* values, std::size_t k, std::size_t n);
  std::uint64_t of_row(const Row& row) const;

  /// Adds a step, given the hashes of its three rows. Every step once; the order is free.
  void add(StepId step, std::uint64_t ready, std::uint64_t start, std::uint64_t end);
  std::uint64_t digest() const;

 private:
  /// Sums of the weights of the ranks that each number of the row stands for, kept for the next row.
  const std::vector<std::uint64_t>& weights_of(const Row& row) const;

  std::uint32_t ranks_;
  mutable std::uint32_t each_ = 0, repeats_ = 0;
  mutable std::vector<std::uint64_t> block_weights_;
  std::uint64_t steps_ = 0;
  std::uint64_t sum_of_weights_ = 0;
  std::uint64_t sum_ = 0;
};

/// The digest of a finished timeline, computed anew from its rows.
std::uint64_t fingerprint_of(const Timeline& timeline);

}  // namespace distsim::engine
