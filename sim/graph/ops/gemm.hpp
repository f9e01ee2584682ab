// Dense matrix product C[b,m,n] = A[b,m,k] * B[b,k,n].
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// A gradient is given as the product that it is. Transposed operands do not change the price.
struct Gemm {
  static constexpr std::string_view kKind = "gemm";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused_epilogue = false;  ///< bias/activation in the same kernel

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch").in_column("b").shown(Show::count), op.batch...);
    visit(field::size("m"), op.m...);
    visit(field::size("n"), op.n...);
    visit(field::size("k"), op.k...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::note("pass"), op.pass...);
    visit(field::note("fused_epilogue"), op.fused_epilogue...);
  }
  double useful_flops() const { return 2 * real(batch) * real(m) * real(n) * real(k); }
};

}  // namespace distsim::graph
