// Nsight Systems exports (`nsys export --type sqlite`), schemas 3.20 to 3.25 and their neighbours: tables and columns
// may be missing.
#pragma once

#include "traces/trace_format.hpp"

namespace distsim::traces {

bool sniff_nsys(const TraceHead& head);

/// A rank for each process and GPU of the report, by GPU, then process. NVTX ranges become annotations; those of
/// PyTorch's emit_nvtx become ops with shapes. Errors: not SQLite; SQLite, but not written by nsys; no CUDA activity in
/// it.
ReadRanks read_nsys;

inline constexpr TraceFormat kNsysSqlite{
    .name = "Nsight Systems SQLite",
    .extensions = {".sqlite", ".db"},
    .sentence = "Nsight Systems, `nsys export --type sqlite` (schemas 3.20 to 3.25)",
    .sniff = sniff_nsys,
    .read = read_nsys,
};

}  // namespace distsim::traces
