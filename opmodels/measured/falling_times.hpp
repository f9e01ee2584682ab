// Measured times that fall as an op grows, or after the last of them: a wrong row, more often than a kernel that likes
// larger sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "opmodels/measured/op_point.hpp"

namespace distsim::opmodels {

/// A larger op in so many times less is worth a remark. Chosen: kernels that like the larger size better (other tiles,
/// aligned rows) and runs that differ gain less.
inline constexpr double kFallsNotably = 3;

struct RowPlace {
  std::uint32_t file = 0, line = 0;
};

struct TimedPoint {
  OpPoint point;
  double measured_us = 0, models_us = 0;
  RowPlace place;  ///< of the row that measured it, for the caller
};

struct FallingTimes {
  std::size_t series = 0;  ///< sizes of which one grows, all else equal, with a fall beyond kFallsNotably
  double factor = 1;       ///< of the worst: `smaller` took so many times what `larger` took
  TimedPoint smaller, larger;
};

/// Points far above the models beside which nothing larger was measured: larger ops fall to what the models say.
struct LastTimes {
  std::size_t points =
      0;              ///< more than kFallsNotably times what the models say, the largest of their series in every size
  double factor = 1;  ///< of the worst
  TimedPoint worst;
};
LastTimes last_times(const std::vector<TimedPoint>& points);

/// A fall that the models have too (a size that suits the hardware) counts by what it is beyond theirs.
FallingTimes falling_times(std::vector<TimedPoint> points);

}  // namespace distsim::opmodels
