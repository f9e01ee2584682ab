#include "base/intervals.hpp"

#include <algorithm>

namespace distsim {

/// Behind all other parts, or as a longer last one. An empty part is left out.
void IntervalSet::append(const Interval& part) {
  if (part.end <= part.begin) return;
  if (!parts_.empty() && part.begin <= parts_.back().end) {
    parts_.back().end = std::max(parts_.back().end, part.end);
    return;
  }
  before_.push_back(total());
  parts_.push_back(part);
}

IntervalSet IntervalSet::union_of(std::vector<Interval> parts) {
  if (!std::ranges::is_sorted(parts, {}, &Interval::begin)) std::ranges::sort(parts, {}, &Interval::begin);
  IntervalSet out;
  for (const Interval& part : parts) out.append(part);
  return out;
}

IntervalSet IntervalSet::plus(const IntervalSet& other) const {
  std::vector<Interval> both;
  both.reserve(parts_.size() + other.parts_.size());
  std::ranges::merge(parts_, other.parts_, std::back_inserter(both), {}, &Interval::begin, &Interval::begin);
  return union_of(std::move(both));
}

IntervalSet IntervalSet::minus(const IntervalSet& other) const {
  IntervalSet out;
  auto cut = other.parts_.begin();
  for (Interval i : parts_) {
    while (cut != other.parts_.end() && cut->end <= i.begin) ++cut;
    for (auto c = cut; c != other.parts_.end() && c->begin < i.end; ++c) {
      out.append({i.begin, c->begin});
      i.begin = std::max(i.begin, c->end);
    }
    out.append(i);
  }
  return out;
}

IntervalSet IntervalSet::clipped(std::int64_t begin, std::int64_t end) const {
  IntervalSet out;
  auto at = std::ranges::upper_bound(parts_, begin, {}, &Interval::end);
  for (; at != parts_.end() && at->begin < end; ++at) out.append({std::max(at->begin, begin), std::min(at->end, end)});
  return out;
}

std::int64_t IntervalSet::total() const {
  return parts_.empty() ? 0 : before_.back() + parts_.back().end - parts_.back().begin;
}

std::int64_t IntervalSet::covered_until(std::int64_t time) const {
  const auto next = std::ranges::upper_bound(parts_, time, {}, &Interval::begin);
  if (next == parts_.begin()) return 0;
  const auto i = static_cast<std::size_t>(next - parts_.begin()) - 1;
  return before_[i] + std::min(time, parts_[i].end) - parts_[i].begin;
}

std::int64_t IntervalSet::covered(std::int64_t begin, std::int64_t end) const {
  return end <= begin ? 0 : covered_until(end) - covered_until(begin);
}

}  // namespace distsim
