#include "sim/profile/intervals.hpp"

#include <algorithm>

namespace distsim::profile {

IntervalSet IntervalSet::union_of(std::vector<Interval> parts) {
  std::erase_if(parts, [](const Interval& i) { return i.end <= i.begin; });
  std::ranges::sort(parts, {}, &Interval::begin);
  IntervalSet out;
  for (const Interval& i : parts) {
    if (!out.parts_.empty() && i.begin <= out.parts_.back().end)
      out.parts_.back().end = std::max(out.parts_.back().end, i.end);
    else
      out.parts_.push_back(i);
  }
  return out;
}

IntervalSet IntervalSet::clipped(std::int64_t begin, std::int64_t end) const {
  IntervalSet out;
  auto at = std::ranges::upper_bound(parts_, begin, {}, &Interval::end);
  for (; at != parts_.end() && at->begin < end; ++at) {
    const Interval i{std::max(at->begin, begin), std::min(at->end, end)};
    if (i.begin < i.end) out.parts_.push_back(i);
  }
  return out;
}

IntervalSet IntervalSet::minus(const IntervalSet& other) const {
  IntervalSet out;
  auto cut = other.parts_.begin();
  for (Interval i : parts_) {
    while (cut != other.parts_.end() && cut->end <= i.begin) ++cut;
    for (auto c = cut; c != other.parts_.end() && c->begin < i.end; ++c) {
      if (c->begin > i.begin) out.parts_.push_back({i.begin, c->begin});
      i.begin = std::max(i.begin, c->end);
    }
    if (i.begin < i.end) out.parts_.push_back(i);
  }
  return out;
}

std::int64_t IntervalSet::total() const {
  std::int64_t sum = 0;
  for (const Interval& i : parts_) sum += i.end - i.begin;
  return sum;
}

}  // namespace distsim::profile
