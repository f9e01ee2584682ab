// A piece of work: layers of one model for a batch of requests on one GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/emulator/request.hpp"

namespace distsim::serving {

struct Work {
  std::uint32_t gpu = 0, model = 0, begin_layer = 0, layers = 0;
  std::uint64_t order = 0;  ///< of assignment
  std::int64_t assigned_ps = 0, ready_ps = 0, start_ps = 0, alone_ps = 0;
  std::int64_t sent_ps = 0, held_up_ps = 0;  ///< between stages of a pipeline: on links, and waiting for the next stage
  double factor = 1;                         ///< of the slowest request on the time of the layers
  std::vector<RequestSlot> requests;

  std::uint32_t end_layer() const { return begin_layer + layers; }
  std::uint32_t batch() const { return static_cast<std::uint32_t>(requests.size()); }
  /// Modulo 2^32: so many pieces of work are never under way together.
  std::uint32_t event_order() const { return static_cast<std::uint32_t>(order); }
};

class WorkPool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      works_.emplace_back();
      return static_cast<std::uint32_t>(works_.size() - 1);
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    return id;
  }
  void give_back(std::uint32_t id) { free_.push_back(id); }
  Work& operator[](std::uint32_t id) { return works_[id]; }
  const Work& operator[](std::uint32_t id) const { return works_[id]; }

 private:
  std::vector<Work> works_;
  std::vector<std::uint32_t> free_;
};

}  // namespace distsim::serving
