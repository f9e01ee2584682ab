// A report of Nsight Systems while its tables are read: what all tables share, and the ranks that come of them. Private
// to nsight/.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/build/rank_builder.hpp"
#include "traces/build/stream_kinds.hpp"
#include "traces/build/string_ids.hpp"
#include "traces/files/sqlite_db.hpp"
#include "traces/trace_format.hpp"

namespace distsim::traces {

class NsysReport {
 public:
  /// The ranks of a process, by GPU.
  using Ranks = std::map<std::uint32_t, RankBuilder*>;

  NsysReport(const SqliteDb& db, const TraceFile& file, TraceJob& job) : db_(db), file_(file), job_(job) {}

  /// Schema, clock, GPUs and names, which the other tables refer to. Error: not written by nsys.
  Result<void> read_header();

  const SqliteDb& db() const { return db_; }
  TraceJob& job() { return job_; }
  NameId string(std::int64_t id);
  /// The first of these texts, at least one, that is there and not empty; counted where that is not the very first.
  NameId name(std::initializer_list<std::int64_t> ids);
  /// From the first two columns of a row, start and end; false for intervals that cannot be.
  bool times(const SqliteRow& row, std::int64_t& start, std::int64_t& duration);

  /// Adds work of a GPU, and the rank of `device` and `process` with its first.
  /// Without a device it is counted and left out. `graphs`: that stand for it, recorded as a whole.
  void add_device(const DeviceInput& input, std::optional<std::uint32_t> device, std::uint64_t process,
                  std::uint64_t graphs = 0);
  /// Errors: no work of a GPU, no names, more ranks than a job has.
  Result<void> check_ranks() const;
  /// Of a report in which no kernel has a time.
  Error no_kernel_times(std::uint64_t kernels) const;
  /// The rank that a call launched work for; else the first GPU of its process; null: the process has none.
  RankBuilder* launched_by(std::uint64_t process, std::uint64_t correlation);
  /// Null: no GPU work.
  const Ranks* ranks_of(std::uint64_t process) const;
  /// For which a call of `process` waited: its only GPU, whatever the record says (nsys writes 0 for all); of several the one
  /// recorded. Nothing: counted and left out.
  std::optional<Ranks::value_type> gpu_of_sync(std::optional<std::uint32_t> recorded, std::uint64_t process);

  std::vector<ReadRank> finish();

  std::uint64_t other_process = 0, no_range = 0, call_stacks = 0, no_stream = 0;  ///< for the notes

 private:
  Result<void> read_devices();
  Result<void> read_streams();
  RankBuilder* rank_for(std::uint32_t device, std::uint64_t process);
  RankBuilder* rank_of(std::uint32_t device, std::uint64_t process);
  void add_notes(TraceNotes& notes) const;
  void note_shared_gpu(std::uint32_t gpu, TraceNotes& notes) const;

  /// (GPU, process) orders the ranks.
  using RankKey = std::pair<std::uint32_t, std::uint64_t>;

  const SqliteDb& db_;
  const TraceFile& file_;
  TraceJob& job_;
  std::string schema_;
  std::int64_t epoch_ = 0;
  std::vector<TraceDevice> devices_;
  StreamKinds stream_kinds_;
  StringIds strings_;
  std::map<RankKey, RankBuilder> builders_;
  std::map<RankKey, std::uint64_t> graphs_;  ///< recorded as a whole
  std::map<std::uint64_t, Ranks> of_process_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> device_of_launch_;  ///< (process, correlation)
  std::uint64_t no_time_ = 0, negative_ = 0, no_name_ = 0, no_gpu_ = 0, syncs_without_gpu_ = 0, syncs_elsewhere_ = 0;
  bool too_many_ = false;
};

/// Kernels, CUDA graphs recorded as a whole, copies and memsets.
Result<void> read_nsys_device_work(NsysReport& report);

/// Runtime calls, NVTX ranges and synchronisations. REQUIRES: device work was read, which makes the ranks.
Result<void> read_nsys_host_work(NsysReport& report);

}  // namespace distsim::traces
