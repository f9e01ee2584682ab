// What a run is measured by.
//
//   latency   = answer at the host - arrival = waiting + fetching (weights, input, moves) + executing + returning the output
//   violation : latency above the model's deadline; a dropped request is one
//   makespan  : from the start of the run to the last answer
//   span      : from the first counted arrival to the last answer
//   throughput = counted requests / span, goodput = those without violation / span
//   energy    = idle power x makespan + sum over pieces of work of what they draw above idle
//   utilisation = time in which a GPU executes / makespan, mean over the GPUs
#pragma once

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

struct RunResult {
  Tally all;
  std::vector<Tally> models;
  std::vector<Tally> classes;              ///< of service; empty where all requests are of one
  Quantiles query_ps;                      ///< closed loads: first sample sent to last answer
  std::vector<std::int64_t> busy_ps;       ///< by GPU; of a pipeline the mean over its stages
  std::vector<ResourceTime> resources;     ///< by GPU; empty where no model says what it keeps busy
  std::vector<std::int64_t> link_busy_ps;  ///< by link: with a transfer on it
  std::vector<double> joules;              ///< by GPU: idle power for the makespan, and what executing draws above it
  struct Share {
    std::int64_t executing_ps =
        0;  ///< alone on the GPU, for work on shared GPUs; of a pipeline the mean over its stages
    std::uint64_t moves = 0, batches = 0;
  };
  std::vector<Share> shares;  ///< by model
  std::int64_t makespan_ps = 0, first_counted_ps = 0;
  std::uint64_t sent = 0, moves = 0, batches = 0, weight_loads = 0, evictions = 0, events = 0;
  std::uint64_t warm_up = 0;  ///< requests left out at the start
  std::uint64_t suggested_warm_up = 0;
  bool unstable = false;    ///< the number of requests in the system grew to the end
  double served_per_s = 0;  ///< answers over makespan: where unstable, the rate at which it saturates

  double span_s() const { return static_cast<double>(makespan_ps - first_counted_ps) * 1e-12; }
};

}  // namespace distsim::serving
