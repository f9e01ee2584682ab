// Queues of requests for policies. None of them allocates once it has grown to its largest size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/serving/emulator/request.hpp"

namespace distsim::serving {

/// First in, first out.
class Fifo {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  RequestSlot front() const { return ring_[begin_]; }
  RequestSlot back() const { return ring_[(begin_ + size_ - 1) & (ring_.size() - 1)]; }
  RequestSlot at(std::size_t i) const { return ring_[(begin_ + i) & (ring_.size() - 1)]; }
  void push(RequestSlot slot) {
    if (size_ == ring_.size()) grow();
    ring_[(begin_ + size_++) & (ring_.size() - 1)] = slot;
  }
  void push_front(RequestSlot slot) {
    if (size_ == ring_.size()) grow();
    begin_ = (begin_ + ring_.size() - 1) & (ring_.size() - 1);
    ring_[begin_] = slot;
    ++size_;
  }
  RequestSlot pop() {
    const RequestSlot slot = ring_[begin_];
    begin_ = (begin_ + 1) & (ring_.size() - 1);
    --size_;
    return slot;
  }
  RequestSlot pop_back() {
    const RequestSlot slot = back();
    --size_;
    return slot;
  }

 private:
  void grow() {
    std::vector<RequestSlot> larger(ring_.empty() ? 8 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    ring_.swap(larger);
    begin_ = 0;
  }
  std::vector<RequestSlot> ring_;
  std::size_t begin_ = 0, size_ = 0;
};

/// Least key first; of equal keys the earlier request.
class KeyedQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  RequestSlot front() const { return heap_.front().slot; }
  void push(std::int64_t key, std::uint64_t number, RequestSlot slot) {
    std::size_t hole = heap_.size();
    heap_.push_back({key, number, slot});
    const Item item = heap_.back();
    while (hole > 0 && item < heap_[(hole - 1) / 2]) {
      heap_[hole] = heap_[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    heap_[hole] = item;
  }
  RequestSlot pop() {
    const RequestSlot slot = heap_.front().slot;
    const Item item = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(item);
    return slot;
  }

 private:
  struct Item {
    std::int64_t key;
    std::uint64_t number;
    RequestSlot slot;
    bool operator<(const Item& o) const { return key != o.key ? key < o.key : number < o.number; }
  };
  void sink(const Item& item) {
    std::size_t hole = 0;
    for (;;) {
      std::size_t child = 2 * hole + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < item)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = item;
  }
  std::vector<Item> heap_;
};

/// Of picoseconds of work: queues of more than times can hold, whose run is too long, wrap.
inline std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// A value for each GPU and the GPU with the least one, the first of equals: a tournament.
class LeastOf {
 public:
  explicit LeastOf(std::uint32_t count) : count_(count) {
    while (leaves_ < count_) leaves_ *= 2;
    values_.assign(leaves_, kNever);
    for (std::uint32_t i = 0; i < count_; ++i) values_[i] = 0;
    winners_.resize(2 * leaves_);
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::uint32_t node = leaves_; node-- > 1;) play(node);
  }
  std::int64_t value(std::uint32_t i) const { return values_[i]; }
  void set(std::uint32_t i, std::int64_t value) {
    values_[i] = value;
    for (std::uint32_t node = (leaves_ + i) / 2; node >= 1; node /= 2) {
      const std::uint32_t before = winners_[node];
      play(node);
      if (winners_[node] == before && before != i) return;  // neither it nor its value is new to those above
    }
  }
  std::uint32_t least() const { return leaves_ == 1 ? 0 : winners_[1]; }

 private:
  void play(std::uint32_t node) {
    const std::uint32_t a = winners_[2 * node], b = winners_[2 * node + 1];
    winners_[node] = values_[b] < values_[a] ? b : a;
  }
  std::uint32_t count_, leaves_ = 1;
  std::vector<std::int64_t> values_;
  std::vector<std::uint32_t> winners_;
};

}  // namespace distsim::serving
