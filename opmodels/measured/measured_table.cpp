#include "opmodels/measured/measured_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace distsim::opmodels {
namespace {

constexpr std::size_t kNeighbours = 4;  // chosen: enough to average out one odd measurement
constexpr double kReach = 1.0;          // octaves, chosen: farther away the models know more
constexpr double kSmallest = 1e-3;      // of a distance, so that weights stay finite

double distance(const OpPoint& a, const OpPoint& b) {
  double sum = 0;
  for (std::size_t i = 0; i < OpPoint::kDims; ++i) {
    const double d = static_cast<double>(a.at[i]) - static_cast<double>(b.at[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

/// The product of the ways to the two: below 0 where `at` lies between them.
double sides(const OpPoint& at, const OpPoint& a, const OpPoint& b) {
  double sum = 0;
  for (std::size_t i = 0; i < OpPoint::kDims; ++i) {
    const double x = static_cast<double>(at.at[i]);
    sum += (static_cast<double>(a.at[i]) - x) * (static_cast<double>(b.at[i]) - x);
  }
  return sum;
}

double log_below(const MeasuredPoint& p) { return p.low_us > 0 ? std::log(p.measured_us / p.low_us) : 0; }
double log_above(const MeasuredPoint& p) { return p.high_us > 0 ? std::log(p.high_us / p.measured_us) : 0; }

auto order(const MeasuredPoint& p) { return std::tie(p.point.group, p.point.at); }

}  // namespace

/// The nearest so far, the farthest of them last.
struct MeasuredTable::Nearest {
  std::array<double, kNeighbours> distance;
  std::array<const MeasuredPoint*, kNeighbours> point{};
  Nearest() { distance.fill(kReach); }
  double reach() const { return distance.back(); }
  void offer(double d, const MeasuredPoint& p) {
    if (d >= reach()) return;
    std::size_t i = kNeighbours - 1;
    for (; i > 0 && distance[i - 1] > d; --i) {
      distance[i] = distance[i - 1];
      point[i] = point[i - 1];
    }
    distance[i] = d;
    point[i] = &p;
  }
};

/// Beyond measured points it fades from the nearest on. Between them those on the other side add theirs, by the cosine under which
/// they lie there, and with them those at the sides: points an octave apart are trusted all the way from one to the next, and
/// nothing jumps where another point becomes the nearest.
double MeasuredTable::trust_of(const Nearest& nearest, const OpPoint& at) {
  constexpr double kSteep =
      4;  // chosen: points at the sides count in full where those opposite are trusted by a quarter
  double best = 0;
  for (std::size_t i = 0; i < kNeighbours && nearest.point[i]; ++i) {
    double opposite = 0, around = 0;
    for (std::size_t j = 0; j < kNeighbours && nearest.point[j]; ++j) {
      if (i == j) continue;
      const double sizes = std::max(nearest.distance[i] * nearest.distance[j], kSmallest * kSmallest);
      const double cosine = sides(at, nearest.point[i]->point, nearest.point[j]->point) / sizes;
      const double trust = kReach - nearest.distance[j];
      opposite += std::max(0.0, -cosine) * trust;
      around += std::clamp(1 - kSteep * cosine, 0.0, 1.0) * trust;
    }
    const double others = std::max(opposite, std::min(1.0, kSteep * opposite) * around);
    best = std::max(best, kReach - nearest.distance[i] + others);
  }
  return std::min(best, 1.0);
}

MeasuredTable::MeasuredTable(std::string device, std::string library, std::vector<MeasuredPoint> points)
    : device_(std::move(device)), library_(std::move(library)), points_(std::move(points)), axis_(points_.size()) {
  std::sort(points_.begin(), points_.end(),
            [](const MeasuredPoint& a, const MeasuredPoint& b) { return order(a) < order(b); });
  for (std::size_t first = 0; first < points_.size();) {
    std::size_t last = first;
    while (last < points_.size() && points_[last].point.group == points_[first].point.group) ++last;
    groups_.push_back(
        {points_[first].point.group, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)});
    split(first, last);
    first = last;
  }
}

void MeasuredTable::split(std::size_t first, std::size_t last) {
  if (last - first < 2) return;
  std::size_t widest = 0;
  float width = -1;
  for (std::size_t i = 0; i < OpPoint::kDims; ++i) {
    const auto by_axis = [i](const MeasuredPoint& a, const MeasuredPoint& b) { return a.point.at[i] < b.point.at[i]; };
    const auto [low, high] = std::minmax_element(points_.begin() + static_cast<std::ptrdiff_t>(first),
                                                 points_.begin() + static_cast<std::ptrdiff_t>(last), by_axis);
    if (high->point.at[i] - low->point.at[i] <= width) continue;
    width = high->point.at[i] - low->point.at[i];
    widest = i;
  }
  const std::size_t middle = (first + last) / 2;
  std::nth_element(
      points_.begin() + static_cast<std::ptrdiff_t>(first), points_.begin() + static_cast<std::ptrdiff_t>(middle),
      points_.begin() + static_cast<std::ptrdiff_t>(last), [widest](const MeasuredPoint& a, const MeasuredPoint& b) {
        return std::tie(a.point.at[widest], a.point.at) < std::tie(b.point.at[widest], b.point.at);
      });
  axis_[middle] = static_cast<std::uint8_t>(widest);
  split(first, middle);
  split(middle + 1, last);
}

void MeasuredTable::search(std::size_t first, std::size_t last, const OpPoint& point, Nearest& nearest) const {
  if (first >= last) return;
  const std::size_t middle = (first + last) / 2;
  nearest.offer(distance(point, points_[middle].point), points_[middle]);
  const std::size_t axis = axis_[middle];
  const double beyond = static_cast<double>(point.at[axis]) - static_cast<double>(points_[middle].point.at[axis]);
  const bool left = beyond < 0;
  search(left ? first : middle + 1, left ? middle : last, point, nearest);
  if (std::abs(beyond) < nearest.reach()) search(left ? middle + 1 : first, left ? last : middle, point, nearest);
}

MeasuredTable::Answer MeasuredTable::ask(const OpPoint& point) const {
  const auto group = std::lower_bound(groups_.begin(), groups_.end(), point.group,
                                      [](const Group& g, std::uint64_t id) { return g.id < id; });
  if (group == groups_.end() || group->id != point.group) return {};
  Nearest nearest;
  search(group->first, group->last, point, nearest);
  if (nearest.point[0] == nullptr) return {};
  const MeasuredPoint& first = *nearest.point[0];
  if (first.point == point) return {first.measured_us, 0, 1, log_below(first), log_above(first), first.scaled};
  double weights = 0, sum = 0, below = 0, above = 0;
  for (std::size_t i = 0; i < kNeighbours && nearest.point[i]; ++i) {
    const double d = std::max(nearest.distance[i], kSmallest);
    weights += 1 / (d * d);
    sum += std::log(nearest.point[i]->measured_us / nearest.point[i]->models_us) / (d * d);
    below += log_below(*nearest.point[i]) / (d * d);
    above += log_above(*nearest.point[i]) / (d * d);
  }
  return {0, sum / weights, trust_of(nearest, point), below / weights, above / weights};
}

}  // namespace distsim::opmodels
