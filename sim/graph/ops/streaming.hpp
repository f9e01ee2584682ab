// Ops that move tensors and compute little: elementwise kernels, copies, concat and split, transposes.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// A kernel that streams tensors: `reads` + `writes` tensors of `elements` each, `flops` operations per element. Also
/// dropout, activation, bias, cast, pooling.
struct Elementwise {
  static constexpr std::string_view kKind = "elementwise";
  static constexpr Work kWork = Work::kernel;
  std::int64_t elements = 0;
  double reads = 1, writes = 1;
  double flops = 1;
  DType dtype = DType::fp32;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("elements"), op.elements...);
    visit(field::setting("dtype"), op.dtype...);
    visit(field::setting("reads").labelled("reads").within(0, 1e3), op.reads...);
    visit(field::setting("writes").labelled("writes").within(0, 1e3), op.writes...);
    visit(field::setting("flops").within(0, 1e6), op.flops...);
  }
  double useful_flops() const { return real(elements) * flops; }
};

enum class CopyKind : std::uint8_t { h2d, d2h, d2d, p2p };
template <>
inline constexpr std::array<std::string_view, 4> kNames<CopyKind>{"h2d", "d2h", "d2d", "p2p"};

struct Copy {
  static constexpr std::string_view kKind = "copy";
  static constexpr Work kWork = Work::copy;
  CopyKind kind = CopyKind::d2d;
  std::int64_t bytes = 0;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::setting("kind"), op.kind...);
    visit(field::size("bytes").in_units("B"), op.bytes...);
  }
};

/// Concatenate or split: moves `bytes` once (read and write) from or to `pieces` tensors.
struct Concat {
  static constexpr std::string_view kKind = "concat";
  static constexpr Work kWork = Work::kernel;
  std::int64_t bytes = 0;
  std::int64_t pieces = 2;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("bytes").in_units("B"), op.bytes...);
    visit(field::size("pieces").labelled("in").counting("piece"), op.pieces...);
  }
};

/// Transpose of `batch` matrices of rows x cols.
struct Transpose {
  static constexpr std::string_view kKind = "transpose";
  static constexpr Work kWork = Work::kernel;
  std::int64_t rows = 0, cols = 0, batch = 1;
  DType dtype = DType::fp32;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("batch").in_column("b").shown(Show::count), op.batch...);
    visit(field::size("rows"), op.rows...);
    visit(field::size("cols"), op.cols...);
    visit(field::setting("dtype"), op.dtype...);
  }
};

}  // namespace distsim::graph
