// MonotoneCubic: the smooth curve through points that rises where they rise and falls where they fall (Fritsch and
// Butland, 1984).
#pragma once

#include <span>
#include <vector>

namespace distsim::collectives {

class MonotoneCubic {
 public:
  MonotoneCubic() = default;
  /// `x` ascending, as many as `y`; one point or more.
  MonotoneCubic(std::span<const double> x, std::span<const double> y);
  /// x[i-1] <= t <= x[i], with i in 1 .. points - 1. Slopes at the points are weighted harmonic means of those of their
  /// neighbours, 0 at a turn.
  double at(double t, std::size_t i) const;

 private:
  std::vector<double> x_, y_, slope_;
};

}  // namespace distsim::collectives
