// What the folder of a trace format provides: one self-describing TraceFormat, which registry.cpp lists.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"
#include "traces/trace_file.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::traces {

struct ChakraGraph;

/// The first bytes of a file, expanded: at least 64 KiB where there are as many. What a sniffer may look at.
struct TraceHead {
  enum class Json : std::uint8_t { none, object, array };

  std::string_view bytes;  ///< as in the file
  std::string_view text;   ///< without a byte order mark
  Json json = Json::none;
  std::set<std::string, std::less<>> keys;  ///< of a JSON object, at its top level, as far as the head goes

  bool has(std::string_view key) const { return keys.contains(key); }
  bool contains(std::string_view word) const { return text.find(word) != std::string_view::npos; }
};

/// REQUIRES: `bytes` outlives the result.
TraceHead look_at(std::string_view bytes);

/// A rank as recorded in one file. Times are absolute nanoseconds: job_assembly moves all ranks to a common zero.
struct ReadRank {
  TraceRank rank;
  bool rank_known = false;       ///< the file says which rank it is
  std::uint32_t world_size = 0;  ///< 0: not said
};

/// The ranks in one file: one for PyTorch, one for each device of an Nsight Systems report, ... Names, shapes and
/// groups go into `job`. Errors: not of this format; nothing in it that can be used.
using ReadRanks = Result<std::vector<ReadRank>>(const TraceFile& file, const TraceOptions& options, TraceJob& job);

/// More records than TraceOptions::max_records.
Error beyond_budget(const TraceOptions& options, const std::string& path);

/// The nodes and dependencies of one rank, from the bytes of its file. `file` appears in messages.
using ReadGraph = Result<ChakraGraph>(std::string_view bytes, const std::string& file);

struct TraceFormat {
  std::string_view name;                       ///< as users know it: "Nsight Systems SQLite"
  std::array<std::string_view, 2> extensions;  ///< of its files, with the dot; the second may be empty
  std::string_view sentence;                   ///< for lists and help
  bool (*sniff)(const TraceHead& head);        ///< true for its own files, whole or cut, and for no others
  ReadRanks* read = nullptr;                   ///< measured ranks, for `profile` and `replay`; or
  ReadGraph* read_graph = nullptr;             ///< a graph that only `replay` can play
};

}  // namespace distsim::traces
