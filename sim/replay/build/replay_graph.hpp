// ReplayGraph: what a trace did, as nodes that wait for each other. Played on the engine it reproduces the measured
// times, and with other costs it tells what would have been.
//
// A rank has streams: one for each host thread, and one or more lanes for each device stream. Nodes of a stream follow
// each other; delays are on none.
//
//   host thread     ... work | call | work | call ...        work: time between calls; call: a launch, or a call that
//   waits for the device launch          delay after the work before the call, then the kernel may start device stream
//   ... gap | kernel | gap | kernel ...      gap: what the device needs between two kernels of a stream
//
// Start of a kernel = max(end of the kernel before + gap, start of its launch call + delay, end of each dependency +
// its delay), over all members where it is a collective seen on several ranks. One of the terms was the binding one
// when the trace was taken; Which one is found out as device_causes.hpp says.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace distsim::replay {

enum class ReplayRole : std::uint8_t {
  host_work,    ///< on a host thread, before a call
  host_tail,    ///< the same, before a mark or where another thread is let go on
  host_resume,  ///< the same, from the moment another thread has let this one go on
  host_call,    ///< a runtime call; `record` is its host record
  delay,   ///< from a launch, or the end of a dependency, to the start of a kernel; without a record: from the end of
           ///< what made room in a full queue of launches to the call that waited for it
  gap,     ///< on a device stream, before a kernel
  device,  ///< a kernel or copy; `record` is its device record
  mark,    ///< a moment on a host thread, of no length
};

struct ReplayNode {
  std::uint32_t rank = 0;        ///< index into TraceJob::ranks
  std::uint32_t stream = 0;      ///< of its rank, or kNoStream (delays)
  std::int64_t cost_ns = 0;      ///< as measured
  std::int64_t measured_ns = 0;  ///< when it started in the trace
  std::uint32_t record =
      traces::kNone;  ///< see ReplayRole; of a gap, a delay and the work before a call: the record that follows
  std::uint32_t match =
      traces::kNone;  ///< of a collective that several ranks were seen in: index into TraceJob::matches
  ReplayRole role = ReplayRole::host_work;
  static constexpr std::uint32_t kNoStream = traces::kNone;
};

/// A profiled step as nodes: kNone where the trace has no such thing.
struct ReplayStep {
  std::uint32_t begin_mark = traces::kNone, end_mark = traces::kNone;
  std::uint32_t first_device = traces::kNone;  ///< device node that starts first of those launched inside
};

struct ReplayRank {
  std::vector<std::uint32_t> device_nodes;  ///< by device record
  std::vector<std::uint32_t> gap_nodes;     ///< by device record
  std::vector<ReplayStep> steps;            ///< by TraceRank::steps
  std::uint32_t streams = 0;
};

/// What was found out, for the report.
struct ReplayCounts {
  std::uint64_t kernels = 0, launched = 0, dependencies = 0, host_waits = 0, handoffs = 0, joined = 0, unexplained = 0,
                room_waits = 0,
                unseen_room_waits = 0;  ///< calls that a full queue of launches held, see launch_queue.hpp
};

struct ReplayGraph {
  const traces::TraceJob* job = nullptr;                       ///< must outlive the graph
  std::vector<ReplayNode> nodes;                               ///< order of a stream = order here
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;  ///< (node, node that it waits for)
  std::vector<ReplayRank> ranks;
  std::int64_t origin_ns = 0;  ///< of the trace: time 0 of the replay
  ReplayCounts counts;
  std::vector<std::string> assumptions;

  std::uint32_t add(const ReplayNode& node) {
    nodes.push_back(node);
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  void wait(std::uint32_t node, std::uint32_t for_node) { waits.emplace_back(node, for_node); }
};

/// Cost: records x log records. Errors: a trace without times, negative durations, nothing on any device and no steps,
/// more than 2^32 nodes.
Result<ReplayGraph> build_replay(const traces::TraceJob& job);

}  // namespace distsim::replay
