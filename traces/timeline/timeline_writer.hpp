// Writes timeline files in the format given by their extension, and several timelines to one file.
#pragma once

#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::traces {

/// ".pftrace" and ".pftrace.gz" (also ".perfetto-trace") are written as Perfetto protobuf, ".json" and ".json.gz" as
/// Chrome JSON.
bool is_perfetto_path(const std::string& path);

/// Refuses a name whose ending says neither; "-" (standard output) is Chrome JSON. `flag` is what the message begins
/// with, `endings` those that the command takes.
Result<void> check_timeline_path(const std::string& flag, const std::string& path,
                                 const std::string& endings = ".pftrace, .pftrace.gz, .json or .json.gz");

Result<void> write_timeline(const SliceSource& source, const std::string& path);
/// Beside other files.
Result<void> write_timeline(const SliceSource& source, const std::string& path, FilesTogether& files);

/// Whether a timeline of so many slices may be a large file: worth a pass over them to say how large.
bool may_be_large(const std::string& path, std::int64_t slices);

/// What a timeline takes in a file of that kind at most, before compression. Looks at every slice and sample.
std::int64_t timeline_bound(const std::string& path, const SliceSource& source);

inline constexpr std::int64_t kLargeTimeline = 200'000'000;  ///< bytes

/// One of several timelines that are written side by side.
struct TimelinePart {
  std::string name;  ///< put before the names of its processes: "measured"
  SliceSource source;
  std::int64_t shift_ps = 0;  ///< added to all its times: aligns the clocks
};

/// All parts as one source: processes are numbered anew, part by part, flows kept apart. The parts' own functions are
/// called while it is written.
SliceSource side_by_side(std::vector<TimelinePart> parts);

}  // namespace distsim::traces
