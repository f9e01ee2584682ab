#include "opmodels/measured/falling_times.hpp"

#include <algorithm>
#include <tuple>

namespace distsim::opmodels {
namespace {

/// Whether the points differ in the size `free` alone.
bool same_series(const OpPoint& a, const OpPoint& b, std::size_t free) {
  if (a.group != b.group) return false;
  for (std::size_t d = 0; d < OpPoint::kDims; ++d) {
    if (d != free && a.at[d] != b.at[d]) return false;
  }
  return true;
}

/// By series, within one by the free size.
auto series_key(const TimedPoint& p, std::size_t free) {
  OpPoint rest = p.point;
  rest.at[free] = 0;
  return std::tuple(rest.group, rest.at, p.point.at[free]);
}
void sort_series(std::vector<TimedPoint>& points, std::size_t free) {
  std::ranges::sort(points, {}, [free](const TimedPoint& p) { return series_key(p, free); });
}

double fall(const TimedPoint& smaller, const TimedPoint& larger) {
  return smaller.measured_us / larger.measured_us / std::max(1.0, smaller.models_us / larger.models_us);
}

}  // namespace

FallingTimes falling_times(std::vector<TimedPoint> points) {
  FallingTimes found;
  for (std::size_t free = 0; free < OpPoint::kDims; ++free) {
    sort_series(points, free);
    for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
      const TimedPoint* slowest = &points[begin];
      bool falls = false;
      for (end = begin + 1; end < points.size() && same_series(points[begin].point, points[end].point, free); ++end) {
        const double factor = fall(*slowest, points[end]);
        falls = falls || factor > kFallsNotably;
        if (factor > std::max(kFallsNotably, found.factor)) {
          found.factor = factor;
          found.smaller = *slowest;
          found.larger = points[end];
        }
        if (points[end].measured_us > slowest->measured_us) slowest = &points[end];
      }
      if (falls) ++found.series;
    }
  }
  return found;
}

LastTimes last_times(const std::vector<TimedPoint>& points) {
  std::vector<TimedPoint> last = points;
  for (std::size_t free = 0; free < OpPoint::kDims; ++free) {
    std::vector<TimedPoint> sorted = points;
    sort_series(sorted, free);
    const auto is_last = [&](const TimedPoint& p) {
      const auto next = std::ranges::upper_bound(sorted, series_key(p, free), {},
                                                 [free](const TimedPoint& q) { return series_key(q, free); });
      return next == sorted.end() || !same_series(p.point, next->point, free);
    };
    std::erase_if(last, [&](const TimedPoint& p) { return !is_last(p); });
  }
  LastTimes found;
  for (const TimedPoint& p : last) {
    const double factor = p.measured_us / p.models_us;
    if (!(factor > kFallsNotably)) continue;
    ++found.points;
    if (factor > found.factor) found.factor = factor, found.worst = p;
  }
  return found;
}

}  // namespace distsim::opmodels
