// The readers: one visible table, format by format.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/trace_file.hpp"

namespace distsim::traces {

struct TraceReader {
  TraceFormat format;
  const char* sentence;  ///< for lists and help
  /// The ranks in one file: one for PyTorch, one for each device of an Nsight Systems report, ...
  Result<std::vector<ReadRank>> (*read)(const TraceFile& file, const TraceOptions& options, TraceJob& job);
};

const std::vector<TraceReader>& trace_readers();

/// Tells the format of `file` and reads it. Error for formats without a reader, with what to do instead.
Result<std::vector<ReadRank>> read_trace_file(const TraceFile& file, const TraceOptions& options, TraceJob& job);

}  // namespace distsim::traces
