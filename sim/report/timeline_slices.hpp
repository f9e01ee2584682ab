// timeline_slices: a played program as slices, for the timeline writers: a process per rank, a thread per stream.
#pragma once

#include <cstdint>
#include <string>

#include "sim/report/report.hpp"
#include "traces/slices.hpp"

namespace distsim {

struct TimelineOptions {
  std::uint32_t max_ranks = 64;      ///< ranks 0 .. max_ranks - 1 are written; 300 tasks of one rank are about 0.3 MB of JSON an iteration
  bool last_iteration_only = false;  ///< else all played iterations, which show how far the host runs ahead
  std::uint32_t gpus_per_node = 1;   ///< for the names of the processes
};

struct TimelineSlices {
  SliceSource source;
  std::string left_out;  ///< "ranks 64 to 9999 are left out", or empty. The source says so too, as the name of a last, empty process.
};

/// Slices carry name and phase of their task; launches are "launch NAME" on the host thread. A collective has two slices, "wait NAME" from its rank's arrival
/// to that of the last member (category "waiting"), and its transfer, joined with those of the other members by a flow. Steps of no length are left out, but
/// for transfers with members that are shown. `played` must outlive the source.
TimelineSlices timeline_slices(const Played& played, const TimelineOptions& options);

}  // namespace distsim
