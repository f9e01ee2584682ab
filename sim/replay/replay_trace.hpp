// `distsim replay` for profiler traces: reads them, plays what they did, and tells the step time against the measured
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/config/variants.hpp"
#include "traces/trace.hpp"

namespace distsim::replay {

struct TraceReplay {
  std::vector<std::string> traces;
  std::string config;
  std::shared_ptr<config::Variants> experiment;  ///< in place of `config`, which is then what messages call it
  std::vector<std::string> sets;
  std::string csv, json, timeline;
  std::string step_pattern;               ///< of the annotations that mark steps
  std::string measured_on;                ///< system or device that the trace was taken on
  std::vector<std::string> remove, fuse;  ///< regular expressions of kernel names
  std::uint32_t ranks = 0;                ///< 0: as many as the experiment has, or as the trace says
  bool leave_one_step_out = false;

  bool has_experiment() const { return experiment != nullptr || !config.empty(); }
  Result<config::Experiment> with(const std::vector<std::string>& overrides) const;
};

Result<void> replay_trace(const TraceReplay& replay);

/// What replay_trace() writes and prints, for programs: the names of outputs in `replay` are not looked at.
struct ReplayTexts {
  std::string json, csv, text;
};
Result<ReplayTexts> replayed_texts(TraceReplay replay);

/// The same of traces that were read before, as JSON (docs/replay.md). Nothing is written; `traces`, `csv`, `json` and
/// `timeline` say nothing.
Result<std::string> replayed_json(const TraceReplay& replay, const traces::TraceJob& job);

/// Measured and replayed, or what-if, side by side as Chrome trace JSON. Error: it may be more than `most_bytes`.
Result<std::string> replayed_timeline(const TraceReplay& replay, const traces::TraceJob& job, std::int64_t most_bytes);

}  // namespace distsim::replay
