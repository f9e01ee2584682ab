// A policy decides which requests a free GPU executes next, how many of their layers, and in which batch.
//
// The emulator hands each request to the policy when it comes (arrived) and when some of its layers are done but not all
// (continued), and asks it for work on behalf of a GPU with a free slot (next). What it does not hand out it keeps. A
// policy assigns by keeping a queue for each GPU, moves by handing out on one GPU what was queued for another or executed
// on another, and batches by handing out several requests of one model. Time stands still while it decides. A policy that
// takes branches is handed the tasks of a request instead, and so decides on the GPU of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sim/serving/emulator/request.hpp"
#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

constexpr std::uint32_t kAnyGpu = 0xFFFFFFFEu;  ///< arrived, continued: every free GPU is to be asked
/// continued: the GPU where its data is, and every other free one if that does not take it.
constexpr std::uint32_t kHereFirst = 0xFFFFFFFDu;
constexpr std::uint32_t kNoGpu = 0xFFFFFFFFu;  ///< ... none, as nothing can start because of this request

/// What a policy may know.
class View {
 public:
  virtual ~View() = default;
  std::int64_t now_ps() const { return now_ps_; }
  const Scenario& scenario() const { return *scenario_; }
  const Request& request(RequestSlot slot) const { return (*pool_)[slot]; }
  /// Whether there is, or has been, a request of this slot.
  bool knows(RequestSlot slot) const { return slot < pool_->size(); }
  /// Whether no further request will come, or none will before one that waits is answered: batches that are not full
  /// have nothing to wait for.
  bool draining() const { return draining_; }
  /// Whether a model's weights are in a GPU's memory.
  virtual bool resident(std::uint32_t gpu, std::uint32_t model) const = 0;
  /// Time of all layers that a request, or a task of one, has left on a GPU, alone and without its own factor.
  /// Precondition: it runs there.
  std::int64_t predicted_ps(const Request& r, std::uint32_t gpu) const {
    return scenario_->time_ps(scenario_->gpus[gpu].kind, r.model, r.next_layer, r.end_layer, 1);
  }
  bool runs_on(const Request& r, std::uint32_t gpu) const {
    return scenario_->runs_on(scenario_->gpus[gpu].kind, r.model);
  }
  /// Time to bring a request's data and its model's weights to a GPU over idle links.
  virtual std::int64_t fetch_ps(const Request& r, std::uint32_t gpu) const = 0;

 protected:
  std::int64_t now_ps_ = 0;
  const Scenario* scenario_ = nullptr;
  const RequestPool* pool_ = nullptr;
  bool draining_ = false;
};

/// What a GPU is to do: filled by Policy::next.
struct Assignment {
  std::vector<RequestSlot> requests;  ///< of one model; at most its max_batch
  std::uint32_t layers = 0;           ///< how many of the layers that they have left; 0: all
};

enum class Answer : std::uint8_t {
  work,     ///< the assignment is filled
  nothing,  ///< not now, for this GPU; asked again at `wake_ps`, too, where that is set
  nobody,   ///< not now, for no GPU: the others need not be asked
  later,    ///< not now; ask again at `wake_ps`, if nothing happened before
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// A request has come. Returns the GPU that it may start on, kAnyGpu or kNoGpu; kHereFirst of one in progress.
  virtual std::uint32_t arrived(const View& view, RequestSlot slot) = 0;
  /// Some of its layers are done.
  virtual std::uint32_t continued(const View& view, RequestSlot slot) { return arrived(view, slot); }
  virtual Answer next(const View& view, std::uint32_t gpu, Assignment& out, std::int64_t& wake_ps) = 0;
  /// A piece of work that this policy handed out is executed; its requests are those of the assignment.
  virtual void executed(const View&, std::uint32_t /*gpu*/, const std::vector<RequestSlot>&) {}
  /// One of the requests that it just handed out is not executed and answered with a refusal instead.
  virtual void dropped(const View&, std::uint32_t /*gpu*/, RequestSlot) {}
};

/// Settings of all policies; each heeds some.
struct PolicyOptions {
  std::uint32_t batch = 8;                            ///< requests of a batch at most
  std::int64_t delay_ps = 2'000'000'000;              ///< how long dynamic batching waits for a full batch
  std::vector<std::vector<std::uint32_t>> placement;  ///< by model: GPUs that it is placed on; empty: all
};

/// Thrown by a policy of the user's that cannot go on; the emulator makes an error of it.
struct PolicyFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Makes policies that need more than a function: those of a user's library.
class PolicyFactory {
 public:
  virtual ~PolicyFactory() = default;
  virtual std::unique_ptr<Policy> make(const Scenario& scenario, const PolicyOptions& options) const = 0;
};

/// One line of the registry.
struct PolicyEntry {
  const char* name;
  const char* sentence;
  std::unique_ptr<Policy> (*make)(const Scenario& scenario, const PolicyOptions& options);
  const PolicyFactory* factory = nullptr;  ///< instead of make
  /// Requests come to it taken apart: each strand of a model's graph (emulator/layer_graph.hpp) as a request of its own,
  /// when all that it needs are done.
  bool takes_branches = false;
  bool batches = false;                 ///< puts several requests into one piece of work, up to batching.size
  bool delays = false;                  ///< waits for more of them, up to batching.delay
  bool heeds_priority = false;          ///< the priority of models and classes counts
  bool splits = false;                  ///< hands out some of a request's layers, so that it may go on elsewhere
  bool waits_for_full_batches = false;  ///< however long that takes

  bool may_batch() const { return batches || factory != nullptr; }
  /// Requests of a batch at most, of a model that takes `max_batch`.
  std::uint32_t largest_batch(const PolicyOptions& options, std::uint32_t max_batch) const {
    if (factory != nullptr) return max_batch;
    return batches ? std::min(options.batch, max_batch) : 1;
  }

  std::unique_ptr<Policy> create(const Scenario& scenario, const PolicyOptions& options) const {
    return factory != nullptr ? factory->make(scenario, options) : make(scenario, options);
  }
};

}  // namespace distsim::serving
