// CSV of `nsys stats -r cuda_gpu_trace -f csv` (older: gputrace): kernels and copies without the host.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_gputrace(const TraceHead& head);

/// A rank for each device. Columns are found by name, whatever their order and units ("Start (ns)", "Duration (us)",
/// "Bytes (MB)"); lines before the header are skipped. Errors: no header; not one row that can be used.
ReadRanks read_gputrace;

inline constexpr TraceFormat kGputraceCsv{
    .name = "nsys gputrace CSV",
    .extensions = {".csv"},
    .sentence = "Nsight Systems, `nsys stats -r cuda_gpu_trace -f csv`",
    .sniff = sniff_gputrace,
    .read = read_gputrace,
};

}  // namespace distsim::traces
