// What the iterations of a trace are made of. All times in nanoseconds, as the trace has them; nothing here is
// predicted.
//
// Split of a step (or of the whole trace), over the window [start, end) of the step on its rank:
//   busy     union of all device records
//   compute  union of the kernels that do not communicate
//   comm     union of the kernels that do (name contains nccl or rccl, or arguments name a collective)
//   exposed  comm without what overlaps compute
//   idle     window - busy
// Copies and memsets count only in busy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "traces/stacks/host_stacks.hpp"
#include "traces/trace.hpp"

namespace distsim::profile {

struct TimeSplit {
  std::int64_t wall = 0, busy = 0, compute = 0, comm = 0, exposed = 0, idle = 0;
};

/// Idle time between device records of one rank, within a window.
struct GapSummary {
  std::uint32_t count = 0;
  std::int64_t total = 0, longest = 0;
  std::int64_t waiting_for_host =
      0;  ///< idle time, also before the first and behind the last record of the window, before a
          ///< record whose launch began only after the GPU had run dry
};

/// How full the GPU's multiprocessors (SMs) were while kernels ran, as the profiler estimates it for each launch.
struct Occupancy {
  std::int64_t all_time = 0;     ///< of all kernels
  std::int64_t block_time = 0;   ///< of those whose blocks per SM are recorded
  std::int64_t kernel_time = 0;  ///< of those whose resident warps are
  double sm_time = 0;            ///< ns: time x share of the SMs that got a block, min(1, blocks per SM)
  double warp_time = 0;          ///< ns: time x resident warps over the most that fit
  void add(const Occupancy& other);
  void add(std::int64_t time, const traces::KernelGeometry& geometry);
};

/// Bytes that the framework's allocator held, on the device with the highest peak; -1 unknown.
struct MemoryUse {
  std::int64_t begin = -1, peak = -1, end = -1;
};

struct StepProfile {
  traces::TraceStep step;
  TimeSplit split;
  GapSummary gaps;
  std::int64_t measured = -1;  ///< iteration time: GPU start to start, else the step's own span; -1 unknown
  std::int64_t gpu_start_to_start =
      -1;  ///< from the first device record launched in this step to that of the next; -1: no next, or no device work
  std::uint32_t kernels = 0;   ///< that start in the window
  std::uint32_t launches = 0;  ///< runtime calls that launch a kernel, graph, copy or memset, and start in the window
  Occupancy occupancy;         ///< of the kernels that start in the window
  MemoryUse memory;
  std::int64_t profiler = 0;       ///< in which the profiler was at work itself
  std::int64_t profiler_idle = 0;  ///< part of it while the GPU was idle
};

/// Host overheads of an operator, after Lin et al., "Building a Performance Model for Deep Learning Recommendation
/// Model Training on GPUs" (2022): T1 between two outermost ops of a thread, T2 from an op's start to its first launch,
/// T3 from its last launch to its end, T4 the launching call itself, T5 between two launches of an op. Ops without a
/// launch count only in T1.
struct OverheadSummary {
  std::uint64_t count = 0;
  std::int64_t total = 0, median = 0, p90 = 0;
};
struct HostOverheads {
  OverheadSummary t1, t2, t3, t4, t5;
};

/// A node of iteration -> annotation -> op -> kernel, summed over the steps of a rank. Children come after their
/// parent.
struct WorkNode {
  enum class Kind : std::uint8_t { root, annotation, op, kernel };
  Kind kind = Kind::root;
  std::string name;
  std::uint32_t parent = traces::kNone, depth = 0;
  std::uint64_t launched = 0;  ///< device records below
  std::int64_t device_time = 0;
};

struct KernelSummary {
  std::string name;
  traces::DeviceRecordKind kind = traces::DeviceRecordKind::kernel;
  bool communication = false;
  std::uint64_t calls = 0;
  std::int64_t total = 0, shortest = 0, longest = 0;
  std::int64_t bytes = 0;  ///< copied or set, where recorded
  Occupancy occupancy;
};

/// One kernel as one op launched it for one set of shapes, within a layer: libraries choose kernels by shape.
struct KernelVariant {
  std::string layer;  ///< innermost annotation that marks no step; empty: none
  std::string op, shapes, kernel;
  std::uint64_t calls = 0;
  std::int64_t device_time = 0;
  Occupancy occupancy;
};

/// What recording cost, from an iteration time without it or from a cost given for each record.
struct ProfilerCost {
  std::int64_t with = -1, without = -1;  ///< iteration; -1: not given
  double records_per_step = 0;           ///< of the host; -1: not known
  double per_record = 0;                 ///< ns; 0: not known
};

/// One op with one set of shapes.
struct OpRate {
  std::string name, shapes;
  std::uint64_t calls = 0;
  std::int64_t device_time = 0;
  double flops = 0;        ///< of all calls; 0: not known for this op
  double bytes = 0;        ///< traffic of all calls: inputs read and outputs written once; 0 not known
  double least_bytes = 0;  ///< of it what is certain (OpWork)
};

/// Records that a rank's profile was made from.
struct RecordCounts {
  std::uint64_t kernels = 0, copies = 0, unlaunched = 0, host = 0, collectives = 0, streams = 0;
};

struct RankProfile {
  std::uint32_t rank = 0;
  RecordCounts records;
  std::vector<StepProfile> steps;  ///< one over the whole trace where none are marked
  bool steps_marked = false;
  StepProfile whole;                    ///< the device-active window (the host's where nothing ran on a device)
  std::uint32_t gpus = 0;               ///< that ran something; one where the process drives no other
  std::int64_t device_time = 0;         ///< of all kernels and copies of the trace
  std::int64_t device_time_before = 0;  ///< part of it before the first step, which no table has
  HostOverheads overheads;
  ProfilerCost profiler;
  HostOverheads corrected;              ///< overheads less profiler.per_record for each host record inside
  std::vector<WorkNode> tree;           ///< preorder; the longest first among siblings
  std::vector<KernelSummary> kernels;   ///< longest total first
  std::vector<OpRate> ops;              ///< longest device time first
  std::vector<KernelVariant> variants;  ///< by layer in order of appearance, then op, shapes; the longest kernel first
};

/// ns of the SMs of all GPUs that the rank ran something on, within the step: what Occupancy::sm_time is a share of.
std::int64_t sm_time_within(const RankProfile& rank, const StepProfile& step);

/// Whether it is known of any GPU work when it was launched, so that GapSummary::waiting_for_host is; and whether launches
/// are, as some were recorded or nothing ran on a GPU.
bool knows_waits(const RankProfile& rank);
bool knows_launches(const RankProfile& rank);
/// Of ops of the host; without any there is nothing that recording could have made longer.
bool has_overheads(const RankProfile& rank);

/// Collectives of one kind, group and size.
struct CollectiveSummary {
  std::string kind, group;
  std::uint32_t group_size = 0;
  std::int64_t bytes = -1;
  std::uint64_t calls = 0;                       ///< joined across ranks; else those of all ranks
  std::uint32_t ranks_seen = 0;                  ///< most members of one call that were in the traces
  std::int64_t total_duration = 0, records = 0;  ///< of the kernels, over all ranks; none: no time is known
  std::int64_t transfer =
      -1;  ///< sum over joined calls of the shortest duration over ranks: without waiting for others; -1: only one rank
  std::uint64_t transfers = 0;                   ///< calls in it; others found no partner
  std::int64_t skew_median = -1, skew_max = -1;  ///< last arrival after the first; -1: only one rank
  double busbw =
      0;  ///< bytes/s as nccl-tests defines it, from transfer (from the mean duration with one rank); 0 unknown
};

/// A rank compared with the others.
struct RankStanding {
  std::uint32_t rank = 0;
  std::uint64_t last_arrivals = 0;    ///< collectives that it joined last
  std::int64_t made_others_wait = 0;  ///< sum over those of: its arrival after the next to last one
  std::int64_t waited = 0;            ///< sum over collectives of: its duration beyond the shortest
  std::optional<double>
      compute_excess;  ///< compute of the steps that it shares with other ranks, over the mean of all ranks that
                       ///< have each of them, -1; steps without numbers: of a mean step; none: it shares none
  bool straggler = false;
};

struct Profile {
  std::vector<RankProfile> ranks;
  std::vector<CollectiveSummary> collectives;
  std::vector<RankStanding> standing;  ///< empty with one rank
  traces::HostStacks host;             ///< of a profiler of the host beside the trace; no functions: none was given
  std::string doubt;  ///< what the GPU cannot have done (rate_above_peak); empty: nothing, or not looked for
};

struct ProfileOptions {
  std::int64_t unprofiled_ns = 0;  ///< iteration time measured without the profiler; 0: not known
  std::int64_t record_ns = 0;      ///< what the profiler adds to each host record; 0: not known
};

/// What of the GPU's work the tables lack, as a note; empty where that is less than 1 % of it.
std::string work_before_steps(const RankProfile& rank);

/// Errors: no ranks, or one without times; an unprofiled iteration, or a cost of a record, that no iteration of the trace
/// allows.
Result<Profile> make_profile(const traces::TraceJob& job, const ProfileOptions& options = {});

}  // namespace distsim::profile
