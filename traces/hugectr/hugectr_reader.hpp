// HugeCTR's inline profiler: `<host>.prof.json` of both generations (2021 with layer names, and the releases v3.1 to
// v3.7 with event names).
#pragma once

#include <vector>

#include "base/result.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/trace_file.hpp"

namespace distsim::traces {

/// A rank for each device. Every event was timed in iterations of its own, so records are medians over its repetitions
/// (TraceRank::times_are_medians), and so is the one step, of the median iter_time_ms. Events nest: fprop holds its
/// GEMMs. Errors: not JSON; no event with times.
Result<std::vector<ReadRank>> read_hugectr(const TraceFile& file, const TraceOptions& options, TraceJob& job);

}  // namespace distsim::traces
