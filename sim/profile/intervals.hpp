// Sets of time as sorted, disjoint intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::profile {

struct Interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
};

/// Sorted, disjoint and not empty.
class IntervalSet {
 public:
  IntervalSet() = default;
  /// The union of `parts`, which may overlap, stand in any order, and be empty or reversed (then they count as
  /// nothing).
  static IntervalSet union_of(std::vector<Interval> parts);

  IntervalSet clipped(std::int64_t begin, std::int64_t end) const;
  IntervalSet minus(const IntervalSet& other) const;
  std::int64_t total() const;
  const std::vector<Interval>& parts() const { return parts_; }

 private:
  std::vector<Interval> parts_;
};

}  // namespace distsim::profile
