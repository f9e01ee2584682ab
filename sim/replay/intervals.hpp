// Unions of time intervals.
#pragma once

#include <cstdint>
#include <vector>

namespace distsim::replay {

struct Interval {
  std::int64_t begin = 0, end = 0;
};

/// Disjoint intervals in order of time; touching ones are one.
class IntervalUnion {
 public:
  explicit IntervalUnion(std::vector<Interval> intervals);
  /// Length of the part within [begin, end).
  std::int64_t covered(std::int64_t begin, std::int64_t end) const;
  bool empty() const { return intervals_.empty(); }
  std::int64_t first() const { return intervals_.front().begin; }
  std::int64_t last() const { return intervals_.back().end; }

 private:
  std::vector<Interval> intervals_;
  std::vector<std::int64_t> before_;  ///< by interval: length of all before it
  std::int64_t covered_until(std::int64_t time) const;
};

}  // namespace distsim::replay
