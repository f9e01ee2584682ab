// A request on its way, and the pool of those that are.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/scenario.hpp"

namespace distsim::serving {

constexpr std::uint32_t kNoWhole = 0xFFFFFFFFu;

using RequestSlot = std::uint32_t;  ///< place in the pool; used again after the request is answered

/// A request, or the part of one that a policy has taken apart: a strand of its model's graph, a task.
struct Request {
  std::uint64_t number = 0;  ///< in the order of arrival, from 0; breaks ties
  std::int64_t arrival_ps = 0;
  std::int64_t deadline_ps = kNever;  ///< a point in time
  std::int64_t waiting_since_ps = 0;
  std::int64_t waited_ps = 0, moved_ps = 0, served_ps = 0;  ///< so far
  double factor = 1;                                        ///< on its service time; policies do not know it
  std::uint32_t model = 0;
  std::uint32_t begin_layer = 0, next_layer = 0, end_layer = 0;  ///< of the model, or of the task
  std::uint32_t place = kHost;                 ///< where its data is: the GPU that executed its last layer, or the host
  std::uint32_t whole = kNoWhole, strand = 0;  ///< of a task: Branches
  std::uint32_t client = 0;
  std::uint32_t service_class = 0;
  std::int32_t priority = 0;
  bool waiting = false;  ///< a policy has it
};

class RequestPool {
 public:
  RequestSlot take() {
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<RequestSlot>(slots_.size() - 1);
    }
    const RequestSlot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(RequestSlot slot) { free_.push_back(slot); }
  Request& operator[](RequestSlot slot) { return slots_[slot]; }
  const Request& operator[](RequestSlot slot) const { return slots_[slot]; }
  std::size_t in_use() const { return slots_.size() - free_.size(); }
  std::size_t size() const { return slots_.size(); }

 private:
  std::vector<Request> slots_;
  std::vector<RequestSlot> free_;
};

}  // namespace distsim::serving
