// CSV of `nsys stats -r cuda_gpu_trace -f csv` (older: gputrace): kernels and copies without the host.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/trace_file.hpp"

namespace distsim::traces {

/// A rank for each device. Columns are found by name, whatever their order and units ("Start (ns)", "Duration (us)",
/// "Bytes (MB)"); lines before the header are skipped. Errors: no header; not one row that can be used.
Result<std::vector<ReadRank>> read_gputrace(const TraceFile& file, const TraceOptions& options, TraceJob& job);

/// The fields of a line; quotes around a field are taken off, doubled ones undone.
std::vector<std::string> split_csv_line(std::string_view line);

}  // namespace distsim::traces
