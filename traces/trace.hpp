// The contents of a trace, independent of its format: a job of ranks; each rank with host threads (ops, annotations,
// CUDA/HIP calls) and device streams (kernels, copies), joined by launches and, across ranks, by collectives. Every
// reader fills these types; profile and replay read nothing else.
//
// Times are int64 nanoseconds. Within a job all ranks share one clock: nanoseconds after TraceJob::epoch_ns. Indices
// are 32 bit; kNone means "not known".
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "sim/graph/op.hpp"
#include "traces/build/name_table.hpp"
#include "traces/work_counts.hpp"

namespace distsim::traces {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

enum class HostKind : std::uint8_t {
  op,          ///< a framework operator (aten::mm, record_param_comms), or a node of an execution trace
  annotation,  ///< a user's or the framework's range (record_function, NVTX): layers, phases, optimizer steps,
               ///< `nccl:all_reduce`
  runtime,     ///< a call of the CUDA, HIP, ... runtime or driver; see HostRecord::call
  python,      ///< a Python frame; kept only on request (TraceOptions::keep_python)
};

/// What a runtime call does, as far as replay cares.
enum class RuntimeCall : std::uint8_t {
  none,
  launch_kernel,
  launch_graph,
  memcpy,
  memset,
  event_record,
  stream_wait_event,
  event_synchronize,
  stream_synchronize,
  device_synchronize,
  allocate,
  free,
  other
};

/// One interval on a host thread. Those of a thread are sorted by (start, longest first) and nest: `parent` encloses
/// it.
struct HostRecord {
  std::int64_t start_ns = 0, duration_ns = 0;
  NameId name;
  std::uint32_t thread = 0;      ///< index into TraceRank::threads
  std::uint32_t parent = kNone;  ///< index into TraceRank::host_records of the innermost record around it on the same
                                 ///< thread (for an execution trace: the caller)
  std::uint32_t inputs = kNone;  ///< index into TraceJob::inputs: shapes and types, where they were recorded
  std::uint64_t op_id = 0;       ///< "Record function id" (rf_id) that joins execution traces; 0 unknown
  std::uint32_t collective = kNone;  ///< index into TraceRank::collectives, on records that describe one without a
                                     ///< device record (gloo, execution traces)
  HostKind kind = HostKind::op;
  RuntimeCall call = RuntimeCall::none;
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

enum class DeviceRecordKind : std::uint8_t { kernel, memcpy, memset };
enum class CopyDirection : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer_to_peer,
  host_to_host
};

/// One interval on a device stream. Those of a stream are sorted by start; they hardly ever overlap.
struct DeviceRecord {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t bytes = -1;  ///< copied or set; -1 unknown
  NameId name;
  std::uint32_t stream = 0;      ///< index into TraceRank::streams
  std::uint32_t launch = kNone;  ///< index into TraceRank::host_records of the runtime call that launched it; kNone:
                                 ///< launched before the window, or no host records
  std::uint32_t op = kNone;  ///< index into TraceRank::host_records of the innermost op or annotation that launched it
  std::uint32_t collective = kNone;  ///< index into TraceRank::collectives
  std::uint32_t geometry = kNone;    ///< index into TraceJob::geometries
  std::uint32_t graph_node = kNone;  ///< index into TraceRank::graph_nodes; kNone: of no graph, or not recorded
  DeviceRecordKind kind = DeviceRecordKind::kernel;
  CopyDirection direction = CopyDirection::unknown;
  bool communication = false;  ///< a kernel whose name contains nccl or rccl, or whose arguments name a collective
  bool from_graph = false;     ///< launched by a CUDA/HIP graph: `launch` is shared by all kernels of the graph
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// A node of a CUDA graph, which runs once or more in every launch of the graph; ids as recorded.
struct GraphNode {
  std::uint64_t graph = 0, node = 0;
  auto operator<=>(const GraphNode&) const = default;
};

/// A recorded dependency of device work that stream order does not give ("Stream Wait Event", "Event Sync", ...).
enum class SyncKind : std::uint8_t { stream_waits_event, event, stream, context };
struct SyncRecord {
  std::int64_t start_ns = 0, duration_ns = 0;
  SyncKind kind = SyncKind::context;
  std::uint32_t stream = kNone;          ///< index into streams: the one that waits, or is waited for by the host
  std::uint32_t wait_on_stream = kNone;  ///< where the event was recorded
  std::uint32_t call = kNone;            ///< the runtime call on the host
  std::uint32_t record_call = kNone;     ///< the call that recorded the event
};

/// What a framework's allocator said of one device (PyTorch's "[memory]" events, with profile_memory=True).
struct MemoryRecord {
  std::int64_t start_ns = 0;
  std::int64_t allocated = 0;    ///< bytes, from then on
  std::int64_t reserved = -1;    ///< bytes that the allocator holds, as recorded; -1 unknown
  std::uint32_t thread = kNone;  ///< index into TraceRank::threads; kNone: one without host records
  std::uint32_t device = 0;      ///< device index as recorded
  std::int64_t before = 0;       ///< bytes until then
};

/// When the profiler itself was at work: buffers flushed, instrumentation.
struct ProfilerWork {
  std::int64_t start_ns = 0, duration_ns = 0;
};

struct KernelGeometry {
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t registers_per_thread = 0;
  std::uint64_t shared_memory = 0;  ///< bytes, static and dynamic
  float blocks_per_sm = -1;         ///< of the grid; -1: not recorded
  float occupancy = -1;  ///< warps resident on an SM over the most it holds, as the profiler estimates; -1 unknown
  bool operator==(const KernelGeometry&) const = default;
};

/// One tensor argument; no dimensions for scalars.
struct TensorShape {
  std::vector<std::int64_t> dims;
  std::string type;  ///< as recorded: "float", "c10::Half", "Scalar", "TensorList", ""
  std::int64_t in_memory =
      -1;  ///< elements, of which an expanded tensor repeats some (stride 0); -1: strides not recorded
  std::uint32_t argument = 0;  ///< of which argument of the op; a list of tensors gives several
};
/// Arguments of an op. Interned: equal ones share an index.
struct OpInputs {
  std::vector<TensorShape> tensors;
  std::vector<std::string>
      values;  ///< "Concrete Inputs": scalars and lists as text, "" where not recorded; may be empty
  std::vector<TensorShape> outputs;  ///< only from execution traces
};

/// A group of ranks (process group, communicator).
struct TraceGroup {
  std::string name, description;
  std::vector<std::uint32_t> ranks;  ///< global ranks, sorted; empty: unknown or all of world_size
  std::uint32_t size = 0;            ///< 0 unknown
};

/// One collective as one rank issued it.
struct TraceCollective {
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  bool kind_known = false;  ///< false: the name says only that it communicates
  bool dtype_known = false;
  graph::DType dtype = graph::DType::fp32;
  std::int64_t in_elements = -1, out_elements = -1;  ///< as recorded, per rank; -1 unknown
  std::int64_t bytes = -1;          ///< the size column of nccl-tests (see Collective in sim/graph/op.hpp); -1 unknown
  std::uint32_t group = kNone;      ///< index into TraceJob::groups
  std::int64_t sequence = -1;       ///< "Seq" of its group; -1: not recorded
  std::int64_t from = -1, to = -1;  ///< "Src Rank" and "Dst Rank" of a send or receive, as recorded; -1: not recorded
  std::uint32_t device_record = kNone, host_record = kNone;  ///< index into TraceRank::device_records, host_records
  bool timed = true;  ///< false: only the call was recorded that hands it to a device, which says nothing of its time
  std::uint32_t match = kNone;      ///< index into TraceJob::matches
  std::int64_t call_elements = -1;  ///< what the call around the kernel states, where that is another number; else -1
  std::optional<graph::DType>
      other_dtype;  ///< of another size: what the call around the kernel or the kernel's name states
  std::vector<std::int64_t> in_split, out_split;  ///< elements for each peer, of an all-to-all with unequal parts
};

/// The same collective on several ranks.
struct CollectiveMatch {
  struct Member {
    std::uint32_t rank = 0, collective = 0;
  };  ///< index into TraceJob::ranks, index into its collectives
  graph::CollectiveKind kind = graph::CollectiveKind::all_reduce;
  std::uint32_t group = kNone;
  std::vector<Member> members;  ///< at least two, in order of rank
};

struct TraceThread {
  std::uint64_t process = 0, id = 0;  ///< below 0 in two's complement, as ids of pthreads may be
  std::string name;
  std::uint32_t begin = 0, end = 0;  ///< its records: [begin, end) of TraceRank::host_records
};
/// What a stream waits for of itself (CUDA C++ Programming Guide, "Default Stream").
enum class StreamKind : std::uint8_t {
  unknown,       ///< not recorded
  null_stream,   ///< the legacy default stream: its work and that of the blocking streams of its context wait for each
                 ///< other, in the order of their launches
  blocking,      ///< created without a flag
  non_blocking,  ///< created with cudaStreamNonBlocking, as PyTorch's are
};
struct TraceStream {
  std::uint32_t device = 0;  ///< device index as recorded
  std::uint64_t id = 0;
  std::uint64_t context = 0;
  std::uint32_t begin = 0, end = 0;  ///< its records: [begin, end) of TraceRank::device_records
  StreamKind kind = StreamKind::unknown;
};

/// One profiled iteration of a rank.
struct TraceStep {
  std::string name;                       ///< "ProfilerStep#12", or what marked it
  std::int64_t number = 0;                ///< 12; else its place
  std::int64_t start_ns = 0, end_ns = 0;  ///< as marked on the host
  std::int64_t first_device_ns = -1;      ///< start of the first device record that was launched inside; -1: none
  std::int64_t last_device_ns = -1;       ///< end of the last one
  std::uint32_t device_records = 0;       ///< launched inside
};

struct TraceDevice {
  std::uint32_t index = 0;
  std::string name;  ///< "NVIDIA A100-SXM4-80GB"; empty where not recorded
  std::uint64_t memory_bytes = 0;
  std::uint32_t multiprocessors = 0;
  std::int32_t compute_capability = 0;  ///< 80 is 8.0; 0 where not recorded
};

/// 8, 0 -> 80; 0 of what is none.
constexpr std::int32_t compute_capability(std::int64_t major, std::int64_t minor) {
  return major > 0 && major < 100 && minor >= 0 && minor < 10 ? static_cast<std::int32_t>(10 * major + minor) : 0;
}

/// What was found, taken for granted, counted and left out while reading; in words that a report can print.
struct TraceNotes {
  struct Count {
    std::string what;
    std::uint64_t count = 0;
  };
  std::vector<std::string> assumptions;
  std::vector<Count> dropped;        ///< "counter events: 31"; never silent
  std::vector<std::string> missing;  ///< what a complete trace has and this one has not (verdict.hpp)
  void assume(std::string text);     ///< once each
  void drop(std::string_view what, std::uint64_t n = 1);
  void lose(std::string_view what, std::uint64_t n);  ///< dropped, and missing: work of the run that cannot be used
  void miss(std::string text);                        ///< once each
};

/// An event of many iterations, as it was timed: the medians of its start and of how long it took.
struct MedianEvent {
  std::int64_t start_ns = 0, duration_ns = 0;
  NameId name;
  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

struct TraceRank {
  std::uint32_t rank = 0;
  std::string path;       ///< file it came from (for zip members: "a.zip:member")
  std::string format;     ///< "PyTorch Kineto JSON", "Nsight Systems SQLite 3.25.0", ...
  std::string host_name;  ///< host name, where recorded
  bool has_times = true;  ///< false for execution traces: start and duration are then places in their order (x 10000),
                          ///< which sort and nest but are no times
  bool times_are_medians =
      false;               ///< HugeCTR prof.json: each interval is a median over many iterations, not one iteration
  bool in_slices = false;  ///< its records were read in slices of time, one after the other, and are not here
  bool rank_is_guessed = false;   ///< neither the trace nor its name says which rank it is of
  WorkCounts work;                ///< of the records of a rank in slices
  bool clock_is_open = false;     ///< whether it is that of the ranks that it sends to or receives from is not known
  std::uint64_t far_records = 0;  ///< left out, as their times cannot be those of one recording with the others
  std::uint64_t twice_elsewhere = 0;  ///< kernels and copies that another stream has as well, of the same launch
  std::vector<TraceDevice> devices;
  std::vector<TraceThread> threads;
  std::vector<TraceStream> streams;
  std::vector<HostRecord> host_records;      ///< by thread, then start
  std::vector<DeviceRecord> device_records;  ///< by stream, then start
  std::vector<GraphNode> graph_nodes;        ///< in any order
  std::vector<MedianEvent> median_events;    ///< where times_are_medians: whole, of which device_records are parts
  std::vector<SyncRecord> syncs;             ///< by start
  std::vector<MemoryRecord> memory;          ///< by start
  std::vector<ProfilerWork> profiler_work;   ///< in any order
  std::vector<TraceCollective> collectives;  ///< by start
  std::vector<TraceStep> steps;              ///< by start
  std::vector<std::int64_t>
      measured_iterations_ns;  ///< iteration times that the trace states apart from its records (HugeCTR iter_time_ms)
  TraceNotes notes;
};

/// How many records may still be kept while a job is read; a long name or a list of sizes counts as several.
struct RecordBudget {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  bool is_spent = false;  ///< there was more than that

  bool take(std::uint64_t records = 1) {
    if (records > left) is_spent = true;
    left -= is_spent ? left : records;
    return !is_spent;
  }
};

struct TraceJob {
  std::int64_t epoch_ns = 0;     ///< nanoseconds since 1970 (or since the profiler's own zero) of time 0
  std::uint32_t world_size = 0;  ///< as stated; 0: not stated
  NameTable names;
  std::vector<OpInputs> inputs;
  std::vector<KernelGeometry> geometries;
  std::vector<TraceGroup> groups;
  std::vector<TraceRank> ranks;          ///< by rank
  std::vector<CollectiveMatch> matches;  ///< by start
  TraceNotes notes;                      ///< about the job, not one rank
  RecordBudget budget;                   ///< of reading it
  std::string_view name(NameId id) const { return names.text(id); }
};

/// Moves all that a rank did by so many nanoseconds.
void move_times(TraceRank& rank, std::int64_t by);

/// Of the first device that has one, as drivers name it ("NVIDIA A100-SXM4-80GB"); empty: none has.
std::string driver_name_of(const TraceJob& job);

std::string_view name_of(HostKind kind);
std::string_view name_of(DeviceRecordKind kind);
std::string_view name_of(RuntimeCall call);

}  // namespace distsim::traces
