// The future events of an emulation: a heap with four children a node, of entries of 16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distsim::serving {

/// In the order in which events of one moment are handled.
enum class EventKind : std::uint8_t {
  work_ready,   ///< what a piece of work needs has arrived on its GPU; order: of assignment, low: the work
  stage_free,   ///< the first stage of a pipeline is through with a piece of work; the same
  work_done,    ///< a piece of work is executed; the same
  shared_done,  ///< the first part of what a shared GPU executes is done; order: the GPU, low: version of its plan
  client,       ///< a client sends its next query; order: the client
  timer,        ///< the policy is asked again
};

/// Ties in time are broken by kind, then by `order`, then by `low`: events have one order whatever the order of insertion.
struct Event {
  std::int64_t time_ps = 0;
  std::uint64_t key = 0;

  static constexpr int kLowBits = 28, kOrderBits = 32;
  static constexpr std::uint32_t kLowMask = (1u << kLowBits) - 1;
  static Event of(std::int64_t time_ps, EventKind kind, std::uint32_t order, std::uint32_t low = 0) {
    return {time_ps, static_cast<std::uint64_t>(kind) << (kLowBits + kOrderBits) |
                         static_cast<std::uint64_t>(order) << kLowBits | (low & kLowMask)};
  }
  EventKind kind() const { return static_cast<EventKind>(key >> (kLowBits + kOrderBits)); }
  std::uint32_t order() const { return static_cast<std::uint32_t>(key >> kLowBits); }
  std::uint32_t low() const { return static_cast<std::uint32_t>(key) & kLowMask; }
  bool operator<(const Event& o) const { return time_ps != o.time_ps ? time_ps < o.time_ps : key < o.key; }
};
static_assert(sizeof(Event) == 16);

class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  void push(Event event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!(event < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  void sink(Event event) {
    std::size_t hole = 0;
    for (;;) {
      const std::size_t begin = 4 * hole + 1, end = begin + 4 < heap_.size() ? begin + 4 : heap_.size();
      if (begin >= end) break;
      std::size_t least = begin;
      for (std::size_t i = begin + 1; i < end; ++i) least = heap_[i] < heap_[least] ? i : least;
      if (!(heap_[least] < event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Event> heap_;
};

}  // namespace distsim::serving
