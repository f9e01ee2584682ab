// LaunchFloor: what launching adds to every time of a curve that was taken through a framework, and the curve without
// it.
//
//   time(bytes) = floor + collective(bytes)
//
// The GPU waits while the framework dispatches the call and the ranks arrive, so the two add up; in a training step the
// host's time is the framework's (FrameworkSpec), not the link's. The floor is what the source states, else
//   median over the flat part of (time - analytic time),   flat: sizes whose time is within 15 % of the least
// Of the flat part nothing is left but noise, so sizes are not used up to the last at which the collective is less than
// half of the time (across nodes: two thirds); the rest carry the scatter of the flat times as their range. A latency
// cannot be told from a floor: the factor of such a curve's latency stays 1 (calibration.hpp). Units: microseconds.
#pragma once

#include "collectives/analytic_model.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

struct LaunchFloor {
  double us = 0;
  double scatter_us = 0;  ///< half range, 10th to 90th percentile
};

/// 0 of curves that nccl-tests and the like have timed. `model` is that of the group that was measured.
LaunchFloor launch_floor_of(const Curve& curve, const AnalyticModel& model);

/// The curve as if its calls had been queued ahead of the GPU; `launch_floor_us` says what was taken away. It may have
/// no points left.
Curve without_launch_floor(Curve curve, const LaunchFloor& floor);

}  // namespace distsim::collectives
