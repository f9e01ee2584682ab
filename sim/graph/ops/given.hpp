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

/// Ops that run one after the other, each so many times: TaskGraph::sequences[index], whose ops come before it. Its
/// cost is the sum of theirs. What a rank does of a deep model's alike layers, as one task.
struct Sequence {
  static constexpr std::string_view kKind = "sequence";
  static constexpr Work kWork = Work::given;
  std::int64_t index = 0;
  double flops = 0;  ///< useful ones of all its ops

  template <class Visit, class... Self>
  static constexpr void fields(Visit&& visit, Self&... op) {
    visit(field::note("index").labelled("number"), op.index...);
    visit(field::note("flops").shown(Show::never), op.flops...);
  }
  double useful_flops() const { return flops; }
};

/// Nothing: this rank has no part in the task (a rank without tables).
struct Absent {
  static constexpr std::string_view kKind = "absent";
  static constexpr Work kWork = Work::none;

  template <class Visit, class... Self>
  static constexpr void fields(Visit&&, Self&...) {}
};

}  // namespace distsim::graph
