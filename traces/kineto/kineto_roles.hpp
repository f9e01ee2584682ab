// Classifies the events of a Kineto trace by category and name, the same way in every pass over a file.
#pragma once

#include "traces/kineto/kineto_event.hpp"

namespace distsim::traces {

enum class KinetoRole : std::uint8_t {
  op,
  annotation,
  runtime,
  python,
  kernel,
  memcpy,
  memset,
  sync,
  ignored,
  flow,
  unknown
};

/// Of an "X" event. Before 2022 annotations had the category of operators; PyTorch built without Kineto writes no
/// categories, but names two processes. Python frames of layers ("nn.Module: Conv2d_3") are annotations.
KinetoRole role_of(const KinetoEvent& e);

/// Of the events of category "overhead": what costs time only because a profiler runs, unlike the loading of functions.
bool is_profiler_work(const KinetoEvent& e);

/// True for roles that become a record of the host or of a device.
bool is_record(KinetoRole role, bool keep_python);

/// Start and duration in nanoseconds as written, the duration may be negative; false where there are none, or they are
/// too large to be added up.
bool event_times(const KinetoEvent& e, std::int64_t& start, std::int64_t& duration);

}  // namespace distsim::traces
