#include "collectives/curves/launch_floor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/median.hpp"

namespace distsim::collectives {

namespace {

constexpr double kFlat = 1.15;  // times the least time of a curve: the flat part; chosen
// Of a time that must be the collective's for the size to be used, inside a node and across nodes; chosen: the flat times
// of one B200 node lie within 8 % of each other, those of four nodes within 60 %, as ranks of other nodes arrive later.
constexpr double kLeastShare = 1. / 2, kLeastShareAcross = 2. / 3;
constexpr double kLeastScatter = 0.1;  // of the floor: dispatch varies by that from run to run; chosen
constexpr double kDeviations = 1.9;    // of median absolute deviations, from median to 90th percentile of a normal one

double least_time(const Curve& curve) {
  const auto least = std::min_element(curve.points.begin(), curve.points.end(),
                                      [](const CurvePoint& a, const CurvePoint& b) { return a.time_us < b.time_us; });
  return least->time_us;
}

/// What is not the collective's, at each size of the flat part.
std::vector<double> flat_part(const Curve& curve, const AnalyticModel& model) {
  const double least = least_time(curve);
  std::vector<double> out;
  for (const CurvePoint& p : curve.points) {
    if (p.time_us <= kFlat * least) out.push_back(std::max(0.0, p.time_us - model.time_us(p.bytes)));
  }
  return out;
}

}  // namespace

LaunchFloor launch_floor_of(const Curve& curve, const AnalyticModel& model) {
  if (curve.timed_by == TimedBy::nccl_tests || curve.points.empty()) return {};
  if (curve.launch_floor_us > 0) return {curve.launch_floor_us, kLeastScatter * curve.launch_floor_us};
  std::vector<double> left = flat_part(curve, model);
  const double us = upper_median(left);
  for (double& v : left) v = std::abs(v - us);
  return {us, std::max(kLeastScatter * us, kDeviations * upper_median(left))};
}

Curve without_launch_floor(Curve curve, const LaunchFloor& floor) {
  curve.launch_floor_us = floor.us;
  if (floor.us <= 0) return curve;
  const double least = curve.nodes == 1 ? kLeastShare : kLeastShareAcross;
  const auto mostly_floor = [&](const CurvePoint& p) { return p.time_us - floor.us < least * p.time_us; };
  const auto last = std::find_if(curve.points.rbegin(), curve.points.rend(), mostly_floor);
  curve.points.erase(curve.points.begin(), last.base());
  for (CurvePoint& p : curve.points) {
    const double low = p.low_us > 0 ? p.low_us : p.time_us, high = p.high_us > 0 ? p.high_us : p.time_us;
    p.time_us -= floor.us;
    p.low_us = std::max(0.1 * p.time_us, low - floor.us - floor.scatter_us);
    p.high_us = high - floor.us + floor.scatter_us;
  }
  return curve;
}

}  // namespace distsim::collectives
