#include "base/units.hpp"

#include <string>

namespace distsim {

Result<Duration> Duration::from_seconds(double seconds) {
  if (!(seconds >= 0.0) || seconds > kMaxSeconds) {
    return Error{"duration: found " + std::to_string(seconds) + " s, expected a finite value from 0 to 1e6 s", "", ""};
  }
  return Duration::picoseconds(std::llround(seconds * 1e12));
}

}  // namespace distsim
