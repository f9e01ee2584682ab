// Layers of recommenders between the embeddings and the perceptrons.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// DLRM's dot interaction: batched product of `features` vectors of length `dim` with themselves, lower triangle,
/// concat with the dense vector.
struct Interaction {
  static constexpr std::string_view kKind = "interaction";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, features = 0, dim = 0;
  DType dtype = DType::fp32;
  bool fused = false;  ///< one kernel; else bmm + index + concat
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("features").within(2, 1e6), op.features...);
    visit(field::size("dim"), op.dim...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("fused"), op.fused...);
  }
  double useful_flops() const {
    return products_of(pass) * real(batch) * real(features) * (real(features) - 1) * real(dim);
  }
};

/// One DCN-v2 low-rank cross layer: x0 * (V(Ux) + b) + x, width `width`, rank `rank` (0: full width x width matrix).
struct CrossLayer {
  static constexpr std::string_view kKind = "cross_layer";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, width = 0, rank = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("width"), op.width...);
    visit(field::part("rank").labelled("rank", "full rank"), op.rank...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
  }
  double useful_flops() const {
    const double products = rank > 0 ? 4 * real(width) * real(rank) : 2 * real(width) * real(width);
    return products_of(pass) * real(batch) * (products + 3 * real(width));  // bias, times x0, plus x
  }
};

}  // namespace distsim::graph
