// timeline_slices: a played program as slices, for the timeline writers: a process per rank, a thread per stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "traces/timeline/slices.hpp"

namespace distsim::report {

struct TimelineOptions {
  std::uint32_t max_ranks =
      64;  ///< of more, one of each class of equal ranks is written, the largest classes first, then those from 0 up
  std::vector<std::uint32_t> ranks_first;  ///< these before those of the classes
  bool classes_only = false;               ///< of each class of equal ranks one, even where there is room for more
  std::int64_t max_slices = 4'000'000;     ///< fewer ranks are written where these would have more, and then only the
                                           ///< last iteration; never less than that of one rank
  bool last_iteration_only = false;        ///< else all played iterations, which show how far the host runs ahead
  bool args_once = false;                  ///< arguments only with the first slice of each name and phase
  std::uint32_t gpus_per_node = 1;         ///< for the names of the processes
  std::vector<std::int64_t> memory_per_rank,
      activations_per_rank;  ///< bytes; one entry where all are equal, none for no memory counter
};

struct TimelineSlices {
  traces::SliceSource source;
  std::int64_t slices = 0;  ///< at most that many will be written
  std::string left_out;     ///< "ranks 64 to 9999 are left out", "1532 of 1536 ranks are left out", or empty. In the
                            ///< source it is the name of a last, empty process.
};

/// Slices carry name and phase of their task; launches are "launch NAME" on the host thread. A collective has two
/// slices, "wait NAME" from its rank's arrival to that of the last member (category "waiting"), and its transfer,
/// joined with those of the other members by a flow. Steps of no length are left out, but for transfers with members
/// that are shown. Counters of every rank: "link use", the bus bandwidth (as nccl-tests defines it) of the collectives
/// that transfer at the moment, in GB/s; and "memory" in GB: what the rank holds all the time, and its activations,
/// which grow with the time of the forward kernels and shrink with that of the backward ones. `played` must outlive the
/// source.
TimelineSlices timeline_slices(const Played& played, const TimelineOptions& options);

/// Samples of the counters of rank `rank`, in order of time: counter `first` is link use, `first + 1` memory (where its
/// options are given).
void emit_counters(const Played& played, const TimelineOptions& options, bool last_iteration_only, std::uint32_t rank,
                   std::uint32_t first, const std::function<void(const traces::CounterSample&)>& sink);

}  // namespace distsim::report
