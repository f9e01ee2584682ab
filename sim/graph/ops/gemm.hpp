// Dense matrix product C[b,m,n] = A[b,m,k] * B[b,k,n].
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// How operands of 8 bits and fewer are scaled: one factor a tensor, of past steps (delayed) or found just before
/// (current); one for each 128 x 128 or 1 x 128 block (blockwise, DeepSeek-V3); one for 32 elements (mx, OCP) or 16 (nv).
/// The kernels that find factors and write such operands are ops of their own.
enum class Scaling : std::uint8_t { none, delayed, current, blockwise, mx, nv };
template <>
inline constexpr std::array<std::string_view, 6> kNames<Scaling>{"none", "delayed", "current", "blockwise", "mx", "nv"};

/// A gradient is given as the product that it is. Transposed operands do not change the price.
struct Gemm {
  static constexpr std::string_view kKind = "gemm";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused_epilogue = false;  ///< bias/activation in the same kernel
  Scaling scaling = Scaling::none;
  bool grouped = false;  ///< the `batch` products are those of experts, with m (of a weight gradient k) rows on average
  double imbalance = 0;  ///< grouped: rows of the largest over the average, less 1

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch").in_column("b").shown(Show::count), op.batch...);
    visit(field::size("m"), op.m...);
    visit(field::size("n"), op.n...);
    visit(field::size("k"), op.k...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::note("pass"), op.pass...);
    visit(field::note("fused_epilogue"), op.fused_epilogue...);
    visit(field::setting("scaling").later(), op.scaling...);
    visit(field::setting("grouped").later(), op.grouped...);
    visit(field::setting("imbalance").later().within(0, 1e4), op.imbalance...);
  }
  double useful_flops() const { return 2 * real(batch) * real(m) * real(n) * real(k); }
};

}  // namespace distsim::graph
