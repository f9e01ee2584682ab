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

/// What becomes of the pointwise operations between a cross layer's products: a kernel each; chains of them as one (XLA);
/// or one kernel each way, the rest in epilogues of the products (by hand).
enum class CrossFusion : std::uint8_t { unfused, chains, epilogues };
template <>
inline constexpr std::array<std::string_view, 3> kNames<CrossFusion>{"unfused", "chains", "epilogues"};

/// One DCN-v2 low-rank cross layer: x0 * (V(Ux) + b) + x, width `width`, rank `rank` (0: full width x width matrix).
struct CrossLayer {
  static constexpr std::string_view kKind = "cross_layer";
  static constexpr Work kWork = Work::kernel;
  std::int64_t batch = 0, width = 0, rank = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  CrossFusion fusion = CrossFusion::unfused;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch"), op.batch...);
    visit(field::size("width"), op.width...);
    visit(field::part("rank").labelled("rank", "full rank"), op.rank...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("fusion"), op.fusion...);
  }
  /// Tensors of batch x width that its pointwise kernels read and write. One by one, forward: plus the bias (two), times
  /// x0, plus x (three each); backward: gradients of x0 and of the product (two multiplies), their accumulation (two
  /// additions), the bias (one). Fused, forward: product, x0, x in, the result out. Chains, backward: gradient and x0 in,
  /// the product's gradient out; gradient and product in, for the sum over the layers of x0's; gradient and x0 in for the
  /// bias; gradient and that of the products in, their sum out. Epilogues, backward: gradient, x0, product and the sum so
  /// far of x0's gradient in, that sum and the product's gradient out, and the gradient that the last product adds to.
  double pointwise_tensors() const {
    constexpr std::array<double, 3> kForward{8, 4, 4}, kBackward{13, 10, 7};
    return (pass == Pass::forward ? kForward : kBackward)[static_cast<std::size_t>(fusion)];
  }
  /// Kernels of these.
  double pointwise_kernels() const {
    constexpr std::array<double, 3> kForward{3, 1, 1}, kBackward{5, 4, 1};
    return (pass == Pass::forward ? kForward : kBackward)[static_cast<std::size_t>(fusion)];
  }
  double useful_flops() const {
    const double products = rank > 0 ? 4 * real(width) * real(rank) : 2 * real(width) * real(width);
    return products_of(pass) * real(batch) * (products + 3 * real(width));  // bias, times x0, plus x
  }
};

}  // namespace distsim::graph
