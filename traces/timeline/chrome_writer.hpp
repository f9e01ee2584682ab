// Chrome trace-event JSON, which Perfetto and chrome://tracing open. Written as a stream: memory does not grow with the
// number of slices.
#pragma once

#include <iosfwd>
#include <string>

#include "base/file.hpp"
#include "base/result.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::traces {

/// One of `files`; gzip when the path ends in ".gz". A process per Track::process, a thread per Track::thread, "X"
/// slices in microseconds with picosecond digits, flow events ("s"/"t"/"f") joining slices of equal flow id.
Result<void> write_chrome_trace(const SliceSource& source, const std::string& path, FilesTogether& files);

/// The same text into a stream.
Result<void> stream_chrome_trace(const SliceSource& source, std::ostream& out);

/// Bytes of the same text at most.
std::int64_t chrome_trace_bound(const SliceSource& source);

}  // namespace distsim::traces
