// Trace files on disk: what a path refers to (a file, a folder, a pattern, the members of a zip archive) and how it is
// packed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "traces/files/byte_source.hpp"
#include "traces/files/sqlite_db.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {

/// One trace on disk.
struct TraceFile {
  std::string path;                                           ///< for messages; "run.zip:rank0.json" for a member
  std::function<Result<std::unique_ptr<ByteSource>>()> open;  ///< expanded text from its start; may be called again
  std::string plain_path;                                     ///< not empty: the text is this very file, unpacked
  std::shared_ptr<const PackedEnd> packed_end;                ///< of the latest reading to the end; null: not packed
};

/// Paths, folders and patterns to files, in order and each once. Folders give the files in them that have an extension
/// of a trace format, .gz or .zip, sorted, and are not searched deeper. Errors: nothing there; a pattern that matches
/// nothing; a folder without trace files.
Result<std::vector<std::string>> expand_paths(const std::vector<std::string>& paths);

/// The traces in a file: itself, its expansion, or the members of a zip. Errors: archives inside archives, formats that
/// are not read (tar, zstd, .nsys-rep).
Result<std::vector<TraceFile>> open_trace_file(const std::string& path, const TraceOptions& options);

/// The database in a file, unpacked in memory where it is packed. Errors: not SQLite; more than 4 GiB once unpacked.
Result<SqliteDb> open_sqlite(const TraceFile& file, const TraceOptions& options);

/// Refuses text that is itself packed, from its first bytes: an archive inside an archive, tar; and empty text.
Result<void> refuse_container(std::string_view head, const std::string& path);

}  // namespace distsim::traces
