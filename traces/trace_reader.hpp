// Reads trace files: paths in, one TraceJob out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// The only part of a trace whose records are kept (Kineto). Times as the file has them.
struct TraceSlice {
  static constexpr std::int64_t kBegin = INT64_MIN / 8, kEnd = INT64_MAX / 2;  ///< before and after all records
  std::int64_t begin = kBegin, end = kEnd;
  std::int64_t host_begin = kBegin;  ///< records of the host are kept from there on
  std::uint64_t first_correlation = UINT64_MAX,
                last_correlation = 0;  ///< of what was launched in the slice, whenever it ran

  bool has_host(std::int64_t from, std::int64_t to) const { return to >= host_begin && from < end; }
  bool has_device(std::int64_t from, std::int64_t to, std::uint64_t correlation) const {
    return (to >= begin && from < end) || (correlation >= first_correlation && correlation <= last_correlation);
  }
};

struct TraceOptions {
  bool keep_python = false;    ///< keep all Python frames as host records (many; off by default, counted). Those of
                               ///< layers, `nn.Module: ...`, are always kept, as annotations
  std::string step_pattern;    ///< ECMAScript regular expression of the annotations that mark an iteration; empty:
                               ///< ProfilerStep#N, else the best there is
  double max_expansion = 100;  ///< a compressed file may grow to this many times its size
  std::uint64_t max_bytes = std::uint64_t{64} << 30;  ///< of text, once expanded
  std::uint64_t max_whole = std::uint64_t{8}
                            << 30;            ///< bytes of a file that has to be held as a whole: CSV, packed SQLite
  std::uint64_t max_records = UINT64_MAX;     ///< of all files, about 200 bytes each; names count by the 128 bytes
  std::optional<TraceSlice> slice;            ///< set: the rest is read over
  std::size_t window = std::size_t{8} << 20;  ///< bytes of text held at a time
  std::size_t max_piece = std::size_t{16} << 20;  ///< of one event, node or value, which are held whole, with up to 40
                                                  ///< times that in memory; the ranks of 100,000 GPUs are 1 MB
};

/// Says that the folders among the paths, and those of patterns, are inputs (note_input_folder). read_traces says so itself; a
/// command that has outputs says it before it checks them.
void note_folders(const std::vector<std::string>& paths);

/// Reads every path: a file, a folder (all trace files in it), or a pattern (`run/rank*.json.gz`); together they are
/// the ranks of one job. The format is detected from the content. Files of one rank that belong together (execution
/// trace and Kineto) are linked. Errors, one line each: no such file, no known format, damage that leaves nothing to
/// use, two files of one rank, ranks that do not belong together, times that no GPU can have (verdict.hpp), a file that
/// is replaced or changed while it is read.
Result<TraceJob> read_traces(const std::vector<std::string>& paths, const TraceOptions& options = {});

}  // namespace distsim::traces
