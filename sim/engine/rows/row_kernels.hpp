// Row kernels: the three loops over ranks that the row evaluator spends its time in, compiled for several instruction
// sets. All of them are integer arithmetic, so every variant gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace distsim::engine {

/// What a loop reads: an array, or one number for all ranks where `row` is null.
struct Operand {
  const std::int64_t* row = nullptr;
  std::int64_t scalar = 0;
};

/// What one pass over the numbers of a row learns about them.
struct Bounds {
  std::int64_t low = 0, high = 0;
  std::uint64_t bits =
      0;  ///< every bit set in a result or an operand: bit 62 or 63 tells of a negative number or an overflow
};

struct LoopRun;

struct RowKernels {
  const char* name;
  /// out[i] = max(a[i], b[i])
  void (*max)(std::int64_t* out, Operand a, Operand b, std::size_t n);
  /// out[i] = a[i] + b[i], modulo 2^64; `out` may be `a.row` or `b.row`. n > 0.
  Bounds (*add)(std::int64_t* out, Operand a, Operand b, std::size_t n);
  /// Sum of value[i] * weight[i], modulo 2^64.
  std::uint64_t (*weighted_sum)(const std::int64_t* value, const std::uint64_t* weight, std::size_t n);
  /// Plays a loop (sim/engine/rows/loop_run.hpp). False where a time is negative or reaches 2^62.
  bool (*play)(const LoopRun& run);
};

/// The widest variant that this processor runs.
const RowKernels& row_kernels();

/// Every variant that this processor runs, narrowest first.
std::span<const RowKernels> all_row_kernels();

}  // namespace distsim::engine
