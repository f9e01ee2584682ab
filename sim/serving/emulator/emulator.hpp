// The emulator: plays a load on a scenario under a policy, event by event, in integer picoseconds.
//
// A piece of work occupies a slot of its GPU from its assignment to the end of its execution:
//   1. weights that are not there, inputs from the host and data of requests that were executed on another GPU are
//      fetched, one transfer after the other on each link (links.hpp); weights that have no room beside those in use wait
//      for the end of other work on the GPU, and what is assigned to it later waits behind them (weights.hpp);
//   2. its layers are executed: after what the GPU has begun before (serial), or beside it (shared_gpu.hpp);
//   3. requests with layers left return to the policy; of the others the output goes to the host, while the GPU goes on.
// At one moment ends come first, in the order of assignment, then timers and arrivals. Then the policy is asked for GPUs
// with a free slot, idle ones first (gpus/free_gpus.hpp): for all if a request came or a timer rang, and otherwise for those whose
// slot became free at this moment or that the policy named for a request.
//
// A policy that takes branches is given a task for each strand of a model's graph (layer_graph.hpp) instead of the request.
// The strands' data comes from where those that it needs were executed. Waiting, fetching and executing of a request are
// those of the strands on the path that ended last, so that they add up to its latency.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "sim/serving/emulator/scenario.hpp"
#include "sim/serving/load/arrivals.hpp"
#include "sim/serving/policies/policy.hpp"
#include "sim/serving/results/tally.hpp"

namespace distsim::serving {

struct RunOptions {
  std::uint64_t warm_up = 0;  ///< requests that are not counted, the first to come
  bool drop_late = false;     ///< requests that are predicted to miss their deadline are dropped instead of started
  std::int64_t max_wait_ps = kNever;  ///< a policy that lets a request wait longer is refused
  std::uint64_t max_in_system = 4'000'000;
  /// Not null: requests come from here instead of from the load, each asked for when the one before it has been decided,
  /// so that requests of one moment are decided one by one.
  Arrivals* arrivals = nullptr;
  /// Where set, told now and then how many requests more have come; by the thread that emulates.
  std::function<void(std::uint64_t)> on_sent;
};

/// A piece of work that was executed, for pictures.
struct Executed {
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, end_layer = 0;
  std::int64_t assigned_ps = 0, start_ps = 0, end_ps = 0;
  const std::vector<RequestSlot>* requests = nullptr;
};
/// A decision: layers of a model for requests, by number, on a GPU.
struct Assigned {
  std::int64_t time_ps = 0;
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, end_layer = 0;
  const std::vector<std::uint64_t>* requests = nullptr;
};
struct Answered {
  std::uint64_t number = 0;
  std::uint32_t model = 0, gpu = 0;
  std::int64_t arrival_ps = 0, answer_ps = 0;
  bool dropped = false;
};

/// Hears of everything as it happens.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void assigned(const Assigned&) {}
  virtual void executed(const Executed&) {}
  virtual void answered(const Answered&) {}
};

/// Preconditions: every model runs on a GPU; the load is checked. Errors: a policy that returns nonsense or leaves a
/// request waiting for ever, more requests in the system than memory is meant for.
Result<RunResult> emulate(const Scenario& scenario, const PolicyEntry& policy, const PolicyOptions& policy_options,
                          const Load& load, const RunOptions& options, Observer* observer = nullptr);

}  // namespace distsim::serving
