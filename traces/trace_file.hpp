// Trace files on disk: what a path refers to (a file, a folder, a pattern, the members of a zip archive), how it is
// packed, and which format its text has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {

enum class TraceFormat : std::uint8_t {
  kineto,
  execution_trace,
  chakra,
  chakra_json,
  nsys_sqlite,
  gputrace_csv,
  hugectr_profile,
  other_json,
  unknown
};
std::string_view name_of(TraceFormat format);

/// An input in which one trace stands.
struct TraceFile {
  std::string path;                                           ///< for messages; "run.zip:rank0.json" for a member
  std::function<Result<std::unique_ptr<ByteSource>>()> open;  ///< expanded text from its start; may be called again
  std::string plain_path;                                     ///< not empty: the text is this very file, unpacked
};

/// Paths, folders and patterns to files, in order and each once. Folders give the trace files in them (by name: .json,
/// .gz, .zip, .csv, .et, .sqlite), sorted, and are not searched deeper. Errors: nothing there; a pattern that matches
/// nothing; a folder without trace files.
Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths);

/// The traces in a file: itself, its expansion, or the members of a zip. Errors: archives inside archives, formats that
/// are not read (tar, zstd, .nsys-rep).
Result<std::vector<TraceFile>> open_trace_file(const std::string& path, const TraceOptions& options);

/// Told from the first bytes of the text (at least the first 64 KiB where there are as many).
TraceFormat sniff(std::string_view head, const std::string& path);
/// The same for a file; `head_bytes` are read.
Result<TraceFormat> sniff(const TraceFile& file);

}  // namespace distsim::traces
