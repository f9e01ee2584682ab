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
void sort_series(std::vector<TimedPoint>& points, std::size_t free) {
  const auto key = [free](const TimedPoint& p) {
    OpPoint rest = p.point;
    rest.at[free] = 0;
    return std::tuple(rest.group, rest.at, p.point.at[free]);
  };
  std::ranges::sort(points, {}, key);
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

}  // namespace distsim::opmodels
