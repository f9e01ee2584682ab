// A scheduling policy of your own for `distsim serving`: this header alone, compiled into a shared object.
//
//   c++ -std=c++20 -O2 -shared -fPIC -I /usr/local/include/distsim -o longest_first.so longest_first.cpp
//   distsim serving --config my.yaml --set 'policies=[fifo, ./longest_first.so]'
//
// The library is code that runs with your rights: name only those that you trust. docs/serving.md has an example.
#pragma once

#include <cstdint>
#include <vector>

namespace serving_policy {

inline constexpr int kVersion = 1;
inline constexpr std::uint32_t kAny = 0xFFFFFFFEu;   ///< arrived: every free GPU may start it
inline constexpr std::uint32_t kHost = 0xFFFFFFFFu;  ///< Request::place: its data is on no GPU

struct Request {
  std::uint64_t number = 0;  ///< in the order of arrival, from 0
  double arrival_s = 0;
  double deadline_s = 0;  ///< a point in time; infinite without one
  double waiting_since_s = 0;
  std::uint32_t model = 0, next_layer = 0;
  std::uint32_t place = kHost;  ///< the GPU that executed its last layer
  std::int32_t priority = 0;
};

/// What a policy may know. Requests are named by ids, which are used again after a request is answered.
class State {
 public:
  virtual ~State() = default;
  virtual double now_s() const = 0;
  virtual std::uint32_t gpus() const = 0;
  virtual std::uint32_t models() const = 0;
  virtual std::uint32_t layers(std::uint32_t model) const = 0;
  virtual std::uint32_t max_batch(std::uint32_t model) const = 0;
  virtual Request request(std::uint32_t id) const = 0;
  virtual bool runs_on(std::uint32_t id, std::uint32_t gpu) const = 0;
  /// Of all layers that are left, alone. Precondition: runs_on.
  virtual double predicted_s(std::uint32_t id, std::uint32_t gpu) const = 0;
  /// To bring its data and its model's weights to a GPU over idle links.
  virtual double fetch_s(std::uint32_t id, std::uint32_t gpu) const = 0;
  virtual bool resident(std::uint32_t gpu, std::uint32_t model) const = 0;
  /// No further request will come: batches that are not full have nothing to wait for.
  virtual bool draining() const = 0;
};

/// What a GPU is to do: requests of one model, and how many of their layers; 0: all that are left. No request: nothing now.
struct Work {
  std::vector<std::uint32_t> requests;
  std::uint32_t layers = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// A request has come, or some of its layers are done. Returns the GPU that it may start on, or kAny.
  virtual std::uint32_t arrived(const State& state, std::uint32_t id) = 0;
  /// A GPU has a free slot. What is handed out is no longer the policy's; it must not be handed out again.
  virtual Work next(const State& state, std::uint32_t gpu) = 0;
};

}  // namespace serving_policy

/// What the library must define: a new policy, of which each run has its own. Null: `version` is not one that it knows.
extern "C" serving_policy::Policy* distsim_create_policy(int version);
/// What it may define: true where its policies take branches. Then each branch of a request's graph of layers comes as a
/// request of its own, with the number of the whole, when the branches that it needs are done; next_layer tells which.
extern "C" bool distsim_policy_takes_branches();
