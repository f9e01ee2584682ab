// Nsight Systems exports (`nsys export --type sqlite`), schemas 3.20 to 3.25 and their neighbours: tables and columns
// may be missing.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/trace_file.hpp"

namespace distsim::traces {

/// A rank for each process and GPU of the report, by GPU, then process. NVTX ranges become annotations; those of
/// PyTorch's emit_nvtx become ops with shapes. Errors: not SQLite; SQLite, but not written by nsys; no CUDA activity in
/// it.
Result<std::vector<ReadRank>> read_nsys(const TraceFile& file, const TraceOptions& options, TraceJob& job);

}  // namespace distsim::traces
