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

__extension__ using EventValue = unsigned __int128;

/// Ties in time are broken by kind, then by `order`, then by `low`: events have one order whatever the order of insertion.
/// All are one number, so that a comparison takes no branch.
class Event {
 public:
  static constexpr int kLowBits = 28, kOrderBits = 32;
  static constexpr std::uint32_t kLowMask = (1u << kLowBits) - 1;
  Event() = default;
  /// Precondition: time_ps >= 0.
  static Event of(std::int64_t time_ps, EventKind kind, std::uint32_t order, std::uint32_t low = 0) {
    const std::uint64_t key = static_cast<std::uint64_t>(kind) << (kLowBits + kOrderBits) |
                              static_cast<std::uint64_t>(order) << kLowBits | (low & kLowMask);
    return Event(EventValue{static_cast<std::uint64_t>(time_ps)} << 64 | key);
  }
  std::int64_t time_ps() const { return static_cast<std::int64_t>(value_ >> 64); }
  EventKind kind() const { return static_cast<EventKind>(key() >> (kLowBits + kOrderBits)); }
  std::uint32_t order() const { return static_cast<std::uint32_t>(key() >> kLowBits); }
  std::uint32_t low() const { return static_cast<std::uint32_t>(key()) & kLowMask; }
  bool operator<(const Event& o) const { return value_ < o.value_; }

 private:
  explicit Event(EventValue value) : value_(value) {}
  std::uint64_t key() const { return static_cast<std::uint64_t>(value_); }
  EventValue value_ = 0;
};
static_assert(sizeof(Event) == 16);

class EventHeap {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  void push(Event event) {
    heap_.push_back(event);
    rise(heap_.size() - 1, event);
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) rise(empty_leaf(), last);
    return first;
  }

 private:
  void rise(std::size_t hole, Event event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!(event < heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }
  /// Moves the hole at the top down to a leaf, past the least child each time. What comes there rises from it, seldom far:
  /// it was a leaf before.
  std::size_t empty_leaf() {
    std::size_t hole = 0;
    const std::size_t size = heap_.size();
    Event* heap = heap_.data();
    for (;;) {
      const std::size_t begin = 4 * hole + 1;
      if (begin + 4 > size) return begin < size ? last_step(hole, begin) : hole;
      const std::size_t a = begin + (heap[begin + 1] < heap[begin] ? 1 : 0);
      const std::size_t b = begin + 2 + (heap[begin + 3] < heap[begin + 2] ? 1 : 0);
      const std::size_t least = heap[b] < heap[a] ? b : a;
      heap[hole] = heap[least];
      hole = least;
    }
  }
  /// The same where there are fewer than four children, which have none.
  std::size_t last_step(std::size_t hole, std::size_t begin) {
    std::size_t least = begin;
    for (std::size_t i = begin + 1; i < heap_.size(); ++i) least = heap_[i] < heap_[least] ? i : least;
    heap_[hole] = heap_[least];
    return least;
  }

  std::vector<Event> heap_;
};

}  // namespace distsim::serving
