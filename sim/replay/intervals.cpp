#include "sim/replay/intervals.hpp"

#include <algorithm>

namespace distsim::replay {

IntervalUnion::IntervalUnion(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::int64_t length = 0;
  for (const Interval& i : intervals) {
    if (i.end <= i.begin) continue;
    if (!intervals_.empty() && i.begin <= intervals_.back().end) {
      const std::int64_t longer = std::max<std::int64_t>(0, i.end - intervals_.back().end);
      intervals_.back().end += longer;
      length += longer;
      continue;
    }
    before_.push_back(length);
    intervals_.push_back(i);
    length += i.end - i.begin;
  }
}

std::int64_t IntervalUnion::covered_until(std::int64_t time) const {
  const auto it = std::upper_bound(intervals_.begin(), intervals_.end(), time,
                                   [](std::int64_t t, const Interval& i) { return t < i.begin; });
  if (it == intervals_.begin()) return 0;
  const auto i = static_cast<std::size_t>(it - intervals_.begin()) - 1;
  return before_[i] + std::min(time, intervals_[i].end) - intervals_[i].begin;
}

std::int64_t IntervalUnion::covered(std::int64_t begin, std::int64_t end) const {
  return end <= begin ? 0 : covered_until(end) - covered_until(begin);
}

}  // namespace distsim::replay
