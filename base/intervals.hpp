// Sets of integers as sorted, disjoint half-open intervals: times at which something was busy.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim {

/// [begin, end); empty where end <= begin.
struct Interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};

/// Sorted, disjoint and not empty; intervals that touch are one. REQUIRES, of every set: its length fits 64 bits.
class IntervalSet {
 public:
  IntervalSet() = default;
  /// The union of `parts`, which may overlap, come in any order, and be empty or reversed (then they count as nothing).
  /// n log n.
  static IntervalSet union_of(std::vector<Interval> parts);

  IntervalSet plus(const IntervalSet& other) const;
  IntervalSet minus(const IntervalSet& other) const;
  IntervalSet clipped(std::int64_t begin, std::int64_t end) const;

  /// Length of all parts.
  std::int64_t total() const;
  /// Length of what lies within [begin, end). log n.
  std::int64_t covered(std::int64_t begin, std::int64_t end) const;

  const std::vector<Interval>& parts() const { return parts_; }
  bool empty() const { return parts_.empty(); }
  /// REQUIRES: not empty.
  std::int64_t first() const { return parts_.front().begin; }
  std::int64_t last() const { return parts_.back().end; }

 private:
  void append(const Interval& part);
  std::int64_t covered_until(std::int64_t time) const;

  std::vector<Interval> parts_;
  std::vector<std::int64_t> before_;  ///< by part: length of all parts before it
};

}  // namespace distsim
