#include "sim/engine/rows/row_kernels.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/engine/rows/lanes.hpp"
#include "sim/engine/rows/loop_run.hpp"

// The loops are written once, on lanes.
#define ALWAYS_INLINE DISTSIM_ALWAYS_INLINE

namespace distsim::engine {
namespace {

ALWAYS_INLINE void max_of_rows(std::int64_t* out, const std::int64_t* a, const std::int64_t* b, std::size_t n) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    in_row(out + i).lanes = in_row(a + i).lanes > in_row(b + i).lanes ? in_row(a + i).lanes : in_row(b + i).lanes;
  for (; i < n; ++i) out[i] = a[i] > b[i] ? a[i] : b[i];
}

ALWAYS_INLINE void max_with_scalar(std::int64_t* out, const std::int64_t* a, std::int64_t b, std::size_t n) {
  const Lanes all_b = Lanes{} + b;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    in_row(out + i).lanes = in_row(a + i).lanes > all_b ? in_row(a + i).lanes : all_b;
  for (; i < n; ++i) out[i] = a[i] > b ? a[i] : b;
}

ALWAYS_INLINE void max_body(std::int64_t* out, Operand a, Operand b, std::size_t n) {
  if (a.row && b.row) return max_of_rows(out, a.row, b.row, n);
  if (a.row) return max_with_scalar(out, a.row, b.scalar, n);
  if (b.row) return max_with_scalar(out, b.row, a.scalar, n);
  std::fill_n(out, n, std::max(a.scalar, b.scalar));
}

/// One operand of a sum as lanes: of a row, or the same number in all.
struct RowLanes {
  const std::int64_t* row;
  ALWAYS_INLINE void load(std::size_t i, Lanes& lanes) const { lanes = in_row(row + i).lanes; }
  ALWAYS_INLINE std::int64_t at(std::size_t i) const { return row[i]; }
};
struct ScalarLanes {
  std::int64_t scalar;
  ALWAYS_INLINE void load(std::size_t, Lanes& lanes) const { lanes = Lanes{} + scalar; }
  ALWAYS_INLINE std::int64_t at(std::size_t) const { return scalar; }
};

ALWAYS_INLINE void widen(Bounds& bounds, std::int64_t sum, std::int64_t bits) {
  bounds.low = std::min(bounds.low, sum);
  bounds.high = std::max(bounds.high, sum);
  bounds.bits |= static_cast<std::uint64_t>(bits);
}

/// Sums wrap (unsigned) instead of overflowing; `bits` shows it.
template <class B>
ALWAYS_INLINE Bounds add_to_row(std::int64_t* out, const std::int64_t* a, B b, std::size_t n) {
  Bounds bounds{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0};
  Lanes low = Lanes{} + bounds.low, high = Lanes{} + bounds.high, bits = {}, addend = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    b.load(i, addend);
    const Lanes sum = (Lanes)((UnsignedLanes)in_row(a + i).lanes + (UnsignedLanes)addend);
    low = sum < low ? sum : low;
    high = sum > high ? sum : high;
    bits |= sum | addend | in_row(a + i).lanes;
    in_row(out + i).lanes = sum;
  }
  for (std::size_t lane = 0; lane < kLanes && i > 0; ++lane) {
    widen(bounds, low[lane], bits[lane]);
    widen(bounds, high[lane], bits[lane]);
  }
  for (; i < n; ++i) {
    const std::uint64_t sum = static_cast<std::uint64_t>(a[i]) + static_cast<std::uint64_t>(b.at(i));
    const std::int64_t seen = a[i] | b.at(i) | static_cast<std::int64_t>(sum);
    out[i] = static_cast<std::int64_t>(sum);
    widen(bounds, out[i], seen);
  }
  return bounds;
}

ALWAYS_INLINE Bounds add_body(std::int64_t* out, Operand a, Operand b, std::size_t n) {
  if (a.row && b.row) return add_to_row(out, a.row, RowLanes{b.row}, n);
  if (a.row) return add_to_row(out, a.row, ScalarLanes{b.scalar}, n);
  if (b.row) return add_to_row(out, b.row, ScalarLanes{a.scalar}, n);
  const std::uint64_t sum = static_cast<std::uint64_t>(a.scalar) + static_cast<std::uint64_t>(b.scalar);
  const std::int64_t all = static_cast<std::int64_t>(sum);
  std::fill_n(out, n, all);
  return {all, all, static_cast<std::uint64_t>(all | a.scalar | b.scalar)};
}

ALWAYS_INLINE std::uint64_t weighted_sum_body(const std::int64_t* value, const std::uint64_t* weight, std::size_t n) {
  UnsignedLanes sums = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sums += (UnsignedLanes)in_row(value + i).lanes * in_row(weight + i).lanes;
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  for (; i < n; ++i) sum += static_cast<std::uint64_t>(value[i]) * weight[i];
  return sum;
}

#define DEFINE_VARIANT(NAME, TARGET)                                                                           \
  namespace NAME {                                                                                             \
  TARGET void max(std::int64_t* out, Operand a, Operand b, std::size_t n) { max_body(out, a, b, n); }          \
  TARGET Bounds add(std::int64_t* out, Operand a, Operand b, std::size_t n) { return add_body(out, a, b, n); } \
  TARGET std::uint64_t weighted_sum(const std::int64_t* value, const std::uint64_t* weight, std::size_t n) {   \
    return weighted_sum_body(value, weight, n);                                                                \
  }                                                                                                            \
  TARGET bool play(const LoopRun& run) { return play_loop(run); }                                              \
  constexpr RowKernels kKernels{#NAME, max, add, weighted_sum, play};                                          \
  }

DEFINE_VARIANT(portable, )
#if defined(__x86_64__)
DEFINE_VARIANT(avx2, __attribute__((target("avx2"))))
DEFINE_VARIANT(avx512, __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))))
#endif

struct Variants {
  std::array<RowKernels, 3> kernels{portable::kKernels};
  std::size_t count = 1;
};

Variants find_variants() {
  Variants found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) found.kernels[found.count++] = avx2::kKernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    found.kernels[found.count++] = avx512::kKernels;
  }
#endif
  return found;
}

}  // namespace

std::span<const RowKernels> all_row_kernels() {
  static const Variants found = find_variants();
  return {found.kernels.data(), found.count};
}

const RowKernels& row_kernels() { return all_row_kernels().back(); }

}  // namespace distsim::engine
