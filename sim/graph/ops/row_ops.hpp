// Ops along the rows or columns of a matrix: normalisation, softmax, loss.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

enum class NormKind : std::uint8_t { layer, batch, rms };
template <>
inline constexpr std::array<std::string_view, 3> kNames<NormKind>{"layer", "batch", "rms"};

/// Normalisation of rows x cols elements: layer norm over cols; batch norm with rows = N*H*W, cols = channels.
struct Normalization {
  static constexpr std::string_view kKind = "normalization";
  static constexpr Work kWork = Work::kernel;
  NormKind kind = NormKind::layer;
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused_activation = false;
  bool fused =
      false;  ///< of layer and rms norms: vector loads, rows kept in registers, and both gradients from one pass
              ///< over x and dy (Apex, Transformer Engine, Liger)

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("kind"), op.kind...);
    visit(field::size("rows"), op.rows...);
    visit(field::size("cols"), op.cols...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::note("fused_activation"), op.fused_activation...);
    visit(field::setting("fused").later(), op.fused...);
  }
  double useful_flops() const { return products_of(pass) * 8 * real(rows) * real(cols); }
};

struct Softmax {
  static constexpr std::string_view kKind = "softmax";
  static constexpr Work kWork = Work::kernel;
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("rows"), op.rows...);
    visit(field::size("cols"), op.cols...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
  }
  double useful_flops() const { return 5 * real(rows) * real(cols); }  // max, subtract, exp, sum, divide
};

enum class LossKind : std::uint8_t { binary_cross_entropy, cross_entropy, mean_squared_error };
template <>
inline constexpr std::array<std::string_view, 3> kNames<LossKind>{"binary_cross_entropy", "cross_entropy",
                                                                  "mean_squared_error"};

struct Loss {
  static constexpr std::string_view kKind = "loss";
  static constexpr Work kWork = Work::kernel;
  LossKind kind = LossKind::cross_entropy;
  std::int64_t rows = 0, classes = 1;
  DType dtype = DType::fp32;
  Pass pass = Pass::forward;
  bool fused =
      false;  ///< cross entropy in one sweep over the logits each way, no probabilities kept (Apex, Transformer
              ///< Engine, Liger); of a vocabulary that is split, this rank's classes

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("kind"), op.kind...);
    visit(field::size("rows"), op.rows...);
    visit(field::size("classes").in_column("cols"), op.classes...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
    visit(field::setting("fused").later(), op.fused...);
  }
  double useful_flops() const { return 5 * real(rows) * real(classes); }
};

}  // namespace distsim::graph
