// What a run is measured by.
//
//   latency   = answer at the host - arrival = waiting + fetching (weights, input, moves) + executing + returning the output
//   violation : latency above the model's deadline; a dropped request is one
//   makespan  : from the start of the run to the last answer
//   span      : from the first counted arrival to the last answer
//   throughput = counted requests that were answered / span, goodput = those without violation / span
//   utilisation = time in which a GPU executes, a link transfers or a resource is busy within the span / span
//   moves, batches: of the span, as they begin
//   energy    = idle power x makespan + sum over pieces of work of what they draw above idle
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/serving/results/batch_means.hpp"
#include "sim/serving/results/quantiles.hpp"

namespace distsim::serving {

struct Tally {
  std::uint64_t requests = 0, violations = 0, dropped = 0;  ///< answered or dropped; of these
  Quantiles latency_ps;
  BatchMeans latency_ms;
  double waited_ms = 0, fetched_ms = 0, executed_ms = 0, returned_ms = 0;  ///< sums

  std::uint64_t answered() const { return requests - dropped; }
};

/// Time of whole resources of a GPU: what executes keeps a part of each busy for its time.
struct ResourceTime {
  double sm_ps = 0, memory_ps = 0, launch_ps = 0;
};

/// A time in which requests came faster than they could be served.
struct OverloadStretch {
  std::uint64_t requests = 0;      ///< that came until all was worked off, by a policy that wastes nothing; 0: none
  double begin_s = 0, most_s = 0;  ///< when it began; the most work that was left, in seconds of all GPUs
};

struct RunResult {
  Tally all;
  std::vector<Tally> models;
  std::vector<Tally> classes;  ///< of service; empty where all requests are of one
  Quantiles query_ps;          ///< closed loads: first sample sent to last answer
  // Within the span:
  std::vector<std::int64_t> busy_ps;       ///< by GPU; of a pipeline the mean over its stages
  std::vector<ResourceTime> resources;     ///< by GPU; empty where no model says what it keeps busy
  std::vector<std::int64_t> link_busy_ps;  ///< by link: with a transfer on it
  std::vector<double> joules;              ///< by GPU: idle power for the makespan, and what executing draws above it
  struct Share {
    /// Within the span, of all GPUs: parts of the time in which they execute, that of a shared GPU by how long work of each
    /// model is executed on it; of a pipeline the mean over its stages.
    double executing_ps = 0;
    std::uint64_t moves = 0, batches = 0;
  };
  std::vector<Share> shares;  ///< by model
  std::int64_t makespan_ps = 0, first_counted_ps = 0;
  std::uint64_t sent = 0, moves = 0, batches = 0, weight_loads = 0, evictions = 0, events = 0;
  std::uint64_t warm_up = 0;  ///< requests left out at the start
  std::uint64_t suggested_warm_up = 0;
  bool unstable = false;       ///< more comes than is served, over any length of time (emulator/overload.hpp)
  double saturates_per_s = 0;  ///< where unstable: the rate at which as much is served as comes
  OverloadStretch overload;    ///< where it is not: one that decides the tail
  std::uint64_t dropped = 0;   ///< of all that were sent, counted or not
  double served_per_s = 0;     ///< answers over makespan: sent - dropped

  std::int64_t span_ps() const { return makespan_ps - first_counted_ps; }
  double span_s() const { return static_cast<double>(span_ps()) * 1e-12; }
  /// Of a time within the span. What is added up of parts of picoseconds may be above the whole by rounding.
  double part_of_span(double ps) const {
    return span_ps() > 0 ? std::min(1.0, ps / static_cast<double>(span_ps())) : 0;
  }
};

}  // namespace distsim::serving
