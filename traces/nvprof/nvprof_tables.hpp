// A file of nvprof while its tables are read. Private to nvprof/.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "traces/build/rank_builder.hpp"
#include "traces/build/stream_kinds.hpp"
#include "traces/build/string_ids.hpp"
#include "traces/files/sqlite_db.hpp"
#include "traces/trace_format.hpp"

namespace distsim::traces {

class NvprofTables {
 public:
  NvprofTables(const SqliteDb& db, const TraceFile& file, TraceJob& job) : db_(db), file_(file), job_(job) {}

  /// Names, GPUs and streams. Error: not written by nvprof.
  Result<void> read_header();
  /// Kernels, copies and memsets, which make the ranks. Errors: none in the file, or none with a GPU; no names; more GPUs
  /// than a process drives.
  Result<void> read_device_work();
  /// Calls of the runtime and the driver. REQUIRES: device work was read.
  Result<void> read_calls();
  /// Ranges of NVTX. REQUIRES: device work was read.
  Result<void> read_markers();
  std::vector<ReadRank> finish();

 private:
  struct Launched {
    std::uint32_t device = 0;
    RuntimeCall by = RuntimeCall::launch_kernel;
  };

  Result<void> read_kernels(const char* table);
  Result<void> read_copies(const char* table);
  Result<void> read_memsets();
  using KindOfFunction = std::map<std::int64_t, RuntimeCall>;  ///< by cbid
  Result<KindOfFunction> read_functions(const char* table);
  Result<void> read_calls_of(const char* table, bool driver);
  bool times(const SqliteRow& row, std::int64_t& start, std::int64_t& duration);
  void add(const SqliteRow& row, const DeviceRecord& record, RuntimeCall by);
  NameId name_of(std::optional<NameId> found);  ///< none: counted

  const SqliteDb& db_;
  const TraceFile& file_;
  TraceJob& job_;
  StringIds strings_;
  std::vector<TraceDevice> devices_;
  StreamKinds stream_kinds_;
  std::map<std::uint32_t, RankBuilder> builders_;
  std::unordered_map<std::uint64_t, Launched> launched_;  ///< by correlation id
  std::uint64_t no_time_ = 0, negative_ = 0, no_range_ = 0, call_stacks_ = 0, no_name_ = 0, no_gpu_ = 0, no_stream_ = 0,
                repeated_marks_ = 0;
  bool too_many_ = false;
};

}  // namespace distsim::traces
