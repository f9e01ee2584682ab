// 2-d convolution.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// Input N x C x H x W, K filters of R x S; output spatial size follows from stride, pad and dilation.
struct Conv2d {
  static constexpr std::string_view kKind = "conv2d";
  static constexpr Work kWork = Work::kernel;
  static constexpr double kMostExtent = 1 << 20;  ///< of strides and the like: keeps out_h() far from overflow
  std::int64_t n = 0, c = 0, h = 0, w = 0, k = 0, r = 1, s = 1;
  std::int64_t stride = 1, pad = 0, dilation = 1, groups = 1;
  DType dtype = DType::fp32;
  bool channels_last = true;
  Pass pass = Pass::forward;  ///< `backward` is both gradients

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("n"), op.n...);
    visit(field::size("c"), op.c...);
    visit(field::size("h"), op.h...);
    visit(field::size("w"), op.w...);
    visit(field::size("k").labelled("filters"), op.k...);
    visit(field::setting("r").shown(Show::chain).within(1, kMostExtent), op.r...);
    visit(field::setting("s").shown(Show::chain).within(1, kMostExtent), op.s...);
    visit(field::setting("stride").in_column("stride_h").labelled("stride").within(1, kMostExtent), op.stride...);
    visit(field::setting("pad").in_column("pad_h").within(0, kMostExtent), op.pad...);
    visit(field::setting("dilation").in_column("dil").within(1, kMostExtent), op.dilation...);
    visit(field::setting("groups").within(1, 1e18), op.groups...);
    visit(field::setting("channels_last").labelled("nhwc", "nchw"), op.channels_last...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("pass"), op.pass...);
  }

  std::int64_t out_h() const { return (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1; }
  std::int64_t out_w() const { return (w + 2 * pad - dilation * (s - 1) - 1) / stride + 1; }

  double useful_flops() const {
    if (groups <= 0) return 0;
    const double outputs = real(n) * real(k) * out_extent(h, r) * out_extent(w, s);
    return products_of(pass) * 2 * outputs * real(c) / real(groups) * real(r) * real(s);
  }

 private:
  /// Output extent in floating point, so that nonsense shapes give 0 rather than undefined arithmetic.
  double out_extent(std::int64_t in, std::int64_t filter) const {
    if (stride <= 0) return 0.0;
    return std::max(
        0.0, std::floor((real(in) + 2 * real(pad) - real(dilation) * (real(filter) - 1) - 1) / real(stride)) + 1);
  }
};

}  // namespace distsim::graph
