// Scaled dot-product attention.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// All heads: QK^T, softmax, (dropout,) PV.
struct Attention {
  static constexpr std::string_view kKind = "attention";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, heads = 0, q_len = 0, kv_len = 0, head_dim = 0;
  bool causal = false;
  bool flash = false;  ///< one kernel that never writes the scores; else bmm + softmax + bmm
  bool dropout = false;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("heads"), op.heads...);
    visit(field::size("q_len"), op.q_len...);
    visit(field::size("kv_len"), op.kv_len...);
    visit(field::size("head_dim"), op.head_dim...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("causal"), op.causal...);
    visit(field::setting("flash"), op.flash...);
    visit(field::setting("dropout"), op.dropout...);
  }
  double useful_flops() const {
    const double scores = real(batch) * real(heads) * real(q_len) * real(kv_len) * (causal ? 0.5 : 1.0);
    return products_of(pass) * 4 * scores * real(head_dim);
  }
};

}  // namespace distsim::graph
