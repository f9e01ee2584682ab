// What the records of a rank say of work that is missing and of times that no GPU has, as counts that add up over slices of time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace distsim::traces {

struct TraceJob;
struct TraceRank;
struct TraceStep;

/// All work of a rank does not wait so long for a GPU that had nothing to do when the first of it was launched.
inline constexpr std::int64_t kAfterItsLaunch = 1'000'000'000;  // ns

/// Records that a window of time has: [begin, end).
struct CountedWindow {
  std::int64_t begin = std::numeric_limits<std::int64_t>::min(), end = std::numeric_limits<std::int64_t>::max();
  bool has(std::int64_t ns) const { return ns >= begin && ns < end; }
};

/// The largest finding of its kind; `found` 0: none.
struct LargestMemory {
  std::int64_t found = 0, limit = 0;
  std::uint32_t device = 0;
};

/// When the last kernel of a stream ended, and when it was launched.
struct StreamEnd {
  std::int64_t end = std::numeric_limits<std::int64_t>::min(), launched = 0;
};

/// Calls of the host that start work of the GPU, and when those did of which no GPU record is there.
struct LaunchCounts {
  std::uint64_t all = 0;
  std::vector<std::int64_t> lost_at;
  void add(const LaunchCounts& other);
};

/// Launches of the CUDA graphs of one id of which some work is there. Graphs may share an id; those of one graph have nodes in
/// common, directly or by way of other launches.
struct GraphLaunches {
  struct Launch {
    std::int64_t at = 0;
    std::uint64_t node = 0;   ///< one of those whose work is there
    std::uint64_t nodes = 0;  ///< how many those are
  };
  std::map<std::uint64_t, std::uint64_t> same_graph;  ///< of each node another of its graph, at last itself
  std::vector<Launch> launches;
  void join(std::uint64_t node, std::uint64_t other);  ///< one launch ran both
  std::uint64_t graph_of(std::uint64_t node);          ///< one of its nodes, the same for all of them
  void add(const GraphLaunches& later);
};

/// Device, context and the graph's id.
using GraphKey = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>;

/// Records of a stream, which runs them in the order of their launches, that no call of the host belongs to: before the first one
/// that has its call, and after the last. Those before may have been launched before the recording.
struct UnlaunchedOfStream {
  std::uint64_t before = 0, between = 0, after = 0;
  bool has_launched = false;
  void take(bool is_launched);
  void add(const UnlaunchedOfStream& later);
  std::uint64_t all() const { return before + between + after; }
};

/// Times a record and the one before it, which hosts that launch them one by one do not take; chosen.
inline constexpr std::int64_t kFarBehind = 100;

/// ns. A kernel that lasts so long in whole microseconds, ten of them, does not take none of them another time; chosen.
inline constexpr std::int64_t kLastingKernel = 10'000;

/// Calls of the kernels of one name.
struct CallsOfName {
  std::uint64_t timeless = 0, timed = 0, lasting = 0;  ///< of those with a time: of kLastingKernel and more
  bool communicates = false;
  void add(const CallsOfName& other);
};

/// ns. A kernel starts, reads and writes memory, and ends: an access alone takes 0.2 us and more.
inline constexpr std::int64_t kShortestKernel = 200;

struct WorkCounts {
  // Calls of the host that no GPU record belongs to; they tell something where a record says which call it belongs to.
  bool joined = false;
  LaunchCounts launches, graph_launches;
  std::map<GraphKey, GraphLaunches> graphs;
  std::map<std::uint64_t, std::uint64_t> launches_of_process;  ///< of kernels and graphs, by the process that calls
  std::uint64_t copy_calls = 0, lost_copies = 0;
  std::int64_t first_joined = std::numeric_limits<std::int64_t>::max();  ///< start of the first launch with its kernel
  std::map<std::pair<std::uint32_t, std::uint64_t>, StreamEnd> stream_ends;  ///< by device and stream
  // GPU records that no call of the host belongs to.
  std::uint64_t host_records = 0, device_records = 0, unlaunched = 0;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, UnlaunchedOfStream>
      unlaunched_of;  ///< by device, context and stream
  // When the first record of the host begins, and the last of host and GPU end.
  std::int64_t host_begin = std::numeric_limits<std::int64_t>::max(),
               host_end = std::numeric_limits<std::int64_t>::min(),
               device_end = std::numeric_limits<std::int64_t>::min();
  // Kernels launched within the first to the last of a profiler's steps, those of them outside of each, and those behind.
  std::uint64_t in_steps = 0, between_steps = 0, after_steps = 0, steps = 0;
  // Kernels against their launches: begun before them by rounding, by more; begun late on an idle GPU.
  std::uint64_t kernels = 0, timeless = 0, too_short = 0, in_nanoseconds = 0, launched = 0, before = 0, early = 0,
                late = 0;
  /// Of kernels, by the hash of their name; where times are not in whole microseconds, not of all.
  std::map<std::uint64_t, CallsOfName> calls_of_names;
  std::int64_t least_delay = std::numeric_limits<std::int64_t>::max();  ///< ns from a launch to its kernel
  std::int64_t most_idle = 0;    ///< ns that the GPU had nothing to do before one that is late
  std::int64_t device_time = 0;  ///< ns of all records
  std::int64_t widest_hole = 0;  ///< ns between two GPU records in which none runs
  std::uint64_t far_behind = 0;  ///< records that begin after a hole of more than kFarBehind times the work around it
  // Calls of the host that wait for work of the GPU, those that end clearly before it, and those more than 1 ms before.
  std::uint64_t host_waits = 0, ended_before = 0, ended_early = 0;
  std::int64_t most_before = 0;  ///< ns from the end of such a call to that of the work
  // Copies and collectives of 1 MiB or more, and those of them that no link is as fast as.
  std::uint64_t large_copies = 0, fast_copies = 0, large_collectives = 0, fast_collectives = 0;
  // Collectives named otherwise than their kernels, and of groups without this rank.
  std::uint64_t collectives = 0, unlike = 0, not_member = 0;
  std::string first_unlike, first_group;
  // Communication kernels, and those of them of no known kind or size.
  std::uint64_t communication = 0, no_kind = 0, no_size = 0;
  // Collectives that state two sizes, those whose kernel and call do, and those whose kernel, its name and call state types of
  // two sizes.
  std::uint64_t two_sizes = 0, other_calls = 0, other_dtypes = 0;
  std::string first_two_sizes, first_other_call, first_other_dtype;
  // Kernels of streams that begin before another of theirs has ended, and those that are there twice.
  std::uint64_t in_streams = 0, at_once = 0, twice = 0;
  std::uint64_t copies_in_streams = 0, copies_twice = 0;  ///< the same of copies and memsets
  LargestMemory beyond_device, beyond_reserved;

  void add(const WorkCounts& later);  ///< of the slice of time that follows
  void shift(std::int64_t by_ns);     ///< the times of single records
  /// Kernels without a time that no rounding to whole microseconds explains: they communicate, or most of their name last long.
  std::uint64_t lost_times() const;
  /// Of the launches without GPU work those that the ends of the recording do not explain: behind the first with its kernel,
  /// and before the last of each stream that ran until the end, as kernels of later ones may have begun after it.
  std::uint64_t lost_between(const LaunchCounts& of) const;
  /// Nodes of graphs that launches which ran other nodes of theirs lack, and all nodes, of the launches that the ends of the
  /// recording do not cut: as of lost_between, and neither the first nor the last of a graph, nor the last of a stream.
  struct IdleNodes {
    std::uint64_t all = 0, idle = 0;
  };
  IdleNodes idle_nodes() const;

 private:
  /// Launches later than these may have kernels behind the end of the recording.
  std::int64_t last_with_all_work() const;
};

/// Of the launches in a window.
std::map<GraphKey, GraphLaunches> count_graphs(const TraceRank& rank, const CountedWindow& window);

/// Of the records that begin in a window; calls of the host count with their launches. `steps` are those of the whole rank.
WorkCounts count_work(const TraceJob& job, const TraceRank& rank, const std::vector<TraceStep>& steps,
                      const CountedWindow& window = {});

}  // namespace distsim::traces
