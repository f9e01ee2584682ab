// The trace formats: one visible table. `distsim list traces`, the files that are taken from a folder, the choice of
// the reader and the tests come from it.
#pragma once

#include <span>

#include "traces/trace_format.hpp"

namespace distsim::traces {

std::span<const TraceFormat* const> trace_formats();

/// The format whose sniffer takes the head; null: none does.
const TraceFormat* format_of(const TraceHead& head);

/// The same for a file, of which the head is read. Errors: empty; an archive inside an archive; no known format.
Result<const TraceFormat*> format_of(const TraceFile& file);

/// Tells the format of `file` and reads it. Errors: those of format_of and of the reader; a format without measured
/// ranks.
Result<std::vector<ReadRank>> read_trace_file(const TraceFile& file, const TraceOptions& options, TraceJob& job);

}  // namespace distsim::traces
