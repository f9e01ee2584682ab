// `distsim replay` for profiler traces: reads them, plays what they did, and tells the step time against the measured
// one.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace distsim::replay {

struct TraceReplay {
  std::vector<std::string> traces;
  std::string config;
  std::vector<std::string> sets;
  std::string csv, json, timeline;
  std::string step_pattern;               ///< of the annotations that mark steps
  std::string measured_on;                ///< system or device that the trace was taken on
  std::vector<std::string> remove, fuse;  ///< regular expressions of kernel names
  std::uint32_t ranks = 0;                ///< 0: as many as the experiment has, or as the trace says
  bool leave_one_step_out = false;
};

Result<void> replay_trace(const TraceReplay& replay);

/// What replay_trace() writes and prints, for programs: the names of outputs in `replay` are not looked at.
struct ReplayTexts {
  std::string json, csv, text;
};
Result<ReplayTexts> replayed_texts(TraceReplay replay);

}  // namespace distsim::replay
