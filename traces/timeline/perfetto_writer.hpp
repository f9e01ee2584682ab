// Perfetto protobuf traces (.pftrace), which ui.perfetto.dev and trace_processor open; a quarter of the size of Chrome
// JSON. Written as a stream: memory does not grow with the number of slices.
#pragma once

#include <string>

#include "base/file.hpp"
#include "base/result.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::traces {

/// One of `files`; gzip when the path ends in ".gz". A process per Track::process with a child track per thread,
/// slices as begin and end events in whole nanoseconds (rounded down, so that slices that nest or touch still do),
/// flows, counters, args as debug annotations. Texts are interned. Perfetto's clock starts at 0: a slice that starts
/// before is an error.
Result<void> write_perfetto_trace(const SliceSource& source, const std::string& path, FilesTogether& files);

/// Bytes of the same packets at most.
std::int64_t perfetto_trace_bound(const SliceSource& source);

}  // namespace distsim::traces
