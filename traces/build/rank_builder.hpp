// Collects the records of one rank in any order, then sorts, nests and joins them. Used by every reader that has times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "traces/trace.hpp"

namespace distsim::traces {

/// A host record as read. `correlation` joins a runtime call with what it launched; `external` is the profiler's id of
/// an op.
struct HostInput {
  std::uint64_t process = 0, thread = 0;
  std::uint64_t correlation = 0, external = 0;  ///< 0: none
  HostRecord record;                            ///< thread and parent are filled in later
};

struct DeviceInput {
  std::uint32_t device = 0;
  std::uint64_t stream = 0, context = 0;
  std::uint64_t correlation = 0, external = 0;
  std::int32_t collective = -1;  ///< index returned by RankBuilder::collective, or -1
  std::optional<GraphNode> graph_node;
  DeviceRecord record;  ///< stream, launch, op, collective and graph_node are filled in later
};

struct SyncInput {
  std::uint32_t device = 0;
  std::int64_t stream = -1, wait_on_stream = -1;
  std::uint64_t correlation = 0, record_correlation = 0;
  SyncRecord record;
};

struct MemoryInput {
  std::uint64_t process = 0, thread = 0;
  std::int64_t change = 0, total = -1;  ///< bytes; total -1: only the change was recorded
  MemoryRecord record;                  ///< thread, before and allocated are filled in later
};

/// What the job's budget has no room for is not kept.
class RankBuilder {
 public:
  /// Of a rank; real ones have some dozens. Whoever waits for all streams looks at each.
  static constexpr std::size_t kMostStreams = 4096;

  explicit RankBuilder(TraceJob& job) : job_(job) {}

  void host(const HostInput& input);
  void device(const DeviceInput& input);
  void sync(const SyncInput& input) {
    if (job_.budget.take()) syncs_.push_back(input);
  }
  void memory(const MemoryInput& input) {
    if (job_.budget.take()) memory_.push_back(input);
  }
  void profiler_work(const ProfilerWork& work) {
    if (job_.budget.take()) profiler_work_.push_back(work);
  }
  /// Keeps a collective; the index goes into HostInput::record.collective or DeviceInput::collective.
  std::uint32_t collective(TraceCollective collective);
  void thread_name(std::uint64_t process, std::uint64_t thread, std::string name);

  std::size_t device_records() const { return devices_.size(); }
  std::size_t host_records() const { return hosts_.size(); }

  /// Moves everything into `rank`: sorted, with parents, launches, ops, collectives and streams. Steps are not its
  /// business. Records more than 10^6 s from most others are left out and counted, so that times can be added up
  /// without overflow.
  void finish(TraceRank& rank);

 private:
  static constexpr std::int64_t kMostBytesAtOnce = std::int64_t{1} << 50;  ///< of one copy or allocation

  struct Key {
    std::uint64_t correlation = 0, external = 0;
  };
  /// Host records by the ids that join them, the first of each id.
  struct HostIndex {
    std::unordered_map<std::uint64_t, std::uint32_t> calls, ops;
    std::uint32_t call(std::uint64_t correlation) const { return find(calls, correlation); }
    std::uint32_t op(std::uint64_t external) const { return find(ops, external); }

   private:
    static std::uint32_t find(const std::unordered_map<std::uint64_t, std::uint32_t>& in, std::uint64_t id) {
      const auto at = id != 0 ? in.find(id) : in.end();
      return at != in.end() ? at->second : kNone;
    }
  };

  std::uint32_t thread_index(std::uint64_t process, std::uint64_t thread);
  std::uint32_t stream_index(std::uint32_t device, std::uint64_t stream, std::uint64_t context);
  void leave_out_absurd(TraceRank& rank);
  std::vector<Key> sort_hosts(TraceRank& rank);
  std::vector<std::uint32_t> sort_devices(TraceRank& rank);
  void nest(TraceRank& rank);
  static HostIndex index_hosts(TraceRank& rank, const std::vector<Key>& host_keys);
  void join(TraceRank& rank, const HostIndex& index, const std::vector<std::uint32_t>& device_order);
  std::uint64_t count_twice_elsewhere(const TraceRank& rank, const std::vector<std::uint32_t>& device_order) const;
  void join_syncs(TraceRank& rank, const HostIndex& index);
  void place_memory(TraceRank& rank);
  void place_collectives(TraceRank& rank, const std::vector<std::uint32_t>& device_order);

  TraceJob& job_;
  std::vector<HostRecord> hosts_;
  std::vector<Key> host_keys_, device_keys_;
  std::vector<DeviceRecord> devices_;
  std::vector<GraphNode> graph_nodes_;
  std::map<GraphNode, std::uint32_t> graph_node_ids_;
  std::vector<std::int32_t> device_collectives_;
  std::vector<SyncInput> syncs_;
  std::vector<MemoryInput> memory_;
  std::vector<ProfilerWork> profiler_work_;
  std::vector<TraceCollective> collectives_;
  std::vector<TraceThread> threads_;
  std::vector<TraceStream> streams_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> thread_ids_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> stream_ids_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> thread_names_;
  std::pair<std::uint64_t, std::uint64_t> last_thread_;
  std::uint32_t last_thread_index_ = kNone;
  std::uint64_t beyond_streams_ = 0;
};

/// Says how many GPU records no call of the host belongs to.
void note_unlaunched(TraceNotes& notes, std::uint64_t without, std::uint64_t all);

/// Says of so many kernels and copies, which no rank has, that their GPU is not recorded.
void note_work_without_gpu(TraceNotes& notes, std::uint64_t records);
/// Says of so many kernels and copies, read as those of stream 0, that their stream is not recorded.
void note_work_without_stream(TraceNotes& notes, std::uint64_t records);
/// Error: all kernels and copies of a file are without a GPU.
Error no_gpu_in(const std::string& path, std::uint64_t records);

/// What a CUDA, HIP or driver function does, from its name.
RuntimeCall runtime_call(std::string_view name);

}  // namespace distsim::traces
