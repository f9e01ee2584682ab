// State-space layers.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// The scan of a Mamba-2 layer (structured state-space duality, arXiv 2405.21060): per head a state of head_dim x state
/// that decays and takes up B^T x token by token; C reads it. Worked out chunk by chunk with matrix products. B and C are
/// shared by the heads of a group.
struct StateSpaceScan {
  static constexpr std::string_view kKind = "state_space_scan";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, length = 0, heads = 0, head_dim = 0, state = 0, groups = 1, chunk = 256;
  DType dtype = DType::bf16;
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("length"), op.length...);
    visit(field::size("heads"), op.heads...);
    visit(field::size("head_dim"), op.head_dim...);
    visit(field::size("state").labelled("state"), op.state...);
    visit(field::setting("groups").within(1, 1 << 20), op.groups...);
    visit(field::setting("chunk").within(1, 1 << 20), op.chunk...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
  }
  double tokens() const { return real(batch) * real(length); }
  /// Of a token, Q tokens a chunk: C B^T of a group 2 Q N, of a head (mask C B^T) x 2 Q P, B^T x and C S 2 N P each.
  double useful_flops() const {
    const double n = real(state), p = real(head_dim), q = real(chunk);
    return products_of(pass) * 2 * tokens() * (real(groups) * q * n + real(heads) * (q * p + 2 * n * p));
  }
};

}  // namespace distsim::graph
