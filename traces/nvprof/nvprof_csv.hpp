// CSV of `nvprof --print-gpu-trace --csv`: kernels and copies without the host.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_nvprof_csv(const TraceHead& head);

/// A rank for each device, as nsys's gputrace. The units of the columns stand below the header, KB and MB are 1024 and
/// 1024^2 bytes, and the correlation id stands behind a kernel's name. Outputs in one file are told apart by what nvprof says of its
/// processes, else by a header below which starts go back. Errors: printed without --print-gpu-trace or
/// without --csv; nothing recorded; rows of two outputs below one header.
ReadRanks read_nvprof_csv;

inline constexpr TraceFormat kNvprofCsv{
    .name = "nvprof CSV",
    .extensions = {".csv"},
    .sentence = "nvprof, `nvprof --print-gpu-trace --csv --log-file FILE.csv`",
    .sniff = sniff_nvprof_csv,
    .read = read_nvprof_csv,
};

}  // namespace distsim::traces
