// Ops whose time is given, and the op of a rank that has none.
#pragma once

#include "base/units.hpp"
#include "sim/graph/ops/field.hpp"

namespace distsim::graph {

/// Work on the host thread (input pipeline, Python between steps). No kernel.
struct HostWork {
  static constexpr std::string_view kKind = "host_work";
  static constexpr Work kWork = Work::host;
  Duration duration;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::note("duration"), op.duration...);
  }
};

/// A kernel whose time is known, as from a trace or from a program's steps.
struct Measured {
  static constexpr std::string_view kKind = "measured";
  static constexpr Work kWork = Work::given;
  Duration duration;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::note("duration"), op.duration...);
  }
};

/// Nothing: this rank has no part in the task (a rank without tables).
struct Absent {
  static constexpr std::string_view kKind = "absent";
  static constexpr Work kWork = Work::none;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&&, Self&...) {}
};

}  // namespace distsim::graph
