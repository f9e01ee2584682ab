// Ops that no model knows, such as those of a custom extension.
#pragma once

#include "sim/graph/ops/dtype.hpp"

namespace distsim::graph {

/// Known only by what it must read and write and by the operations that are asked of it: one kernel, with a wide range.
struct Unlisted {
  static constexpr std::string_view kKind = "unlisted";
  static constexpr Work kWork = Work::kernel;
  std::int64_t read_bytes = 0, written_bytes = 0;
  std::int64_t flops = 0;  ///< on the plain lanes

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::size("read_bytes").in_units("B").labelled("reads").within(0, 1e18), op.read_bytes...);
    visit(field::size("written_bytes").in_units("B").labelled("writes").within(0, 1e18), op.written_bytes...);
    visit(field::size("flops").within(0, 1e18).shown(Show::never), op.flops...);
  }
  double useful_flops() const { return real(flops); }
};

}  // namespace distsim::graph
