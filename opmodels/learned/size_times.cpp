#include "opmodels/learned/size_times.hpp"

#include <cmath>

namespace distsim::opmodels {

double half_octave(int point) { return point == 1 ? 1.0 : std::ldexp(point % 2 == 0 ? 1.0 : 1.5, point / 2); }

int half_octave_below(double size) {
  int exponent = 0;
  const double mantissa = std::frexp(size, &exponent);  // in [0.5, 1)
  return 2 * (exponent - 1) + (mantissa >= 0.75 ? 1 : 0);
}

}  // namespace distsim::opmodels
