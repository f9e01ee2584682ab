// How far times go: picoseconds of 64 bits hold 106 days. What would be later is held at the end, so that no sum overflows,
// and a run that gets past kLongestPs is an error.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace distsim::serving {

/// No run goes on longer (46 days), and nothing in it takes longer: two such times add up to less than 2^63.
constexpr std::int64_t kLongestPs = 4'000'000'000'000'000'000;

/// A time so much later, at most 2 x kLongestPs. Preconditions: 0 <= at_ps <= 2 x kLongestPs, by_ps >= 0.
inline std::int64_t later(std::int64_t at_ps, std::int64_t by_ps) {
  return at_ps + std::min(by_ps, 2 * kLongestPs - at_ps);
}
/// To the picosecond, at most kLongestPs.
inline std::int64_t bounded_ps(double ps) { return std::llround(std::min(ps, static_cast<double>(kLongestPs))); }
/// A time so many times as long, to the picosecond. Beyond the longest run it is just past it, so that a run that gets there
/// is refused. Preconditions: ps >= 0, factor > 0.
inline std::int64_t times_factor(std::int64_t ps, double factor) {
  const double longer = static_cast<double>(ps) * factor;
  return longer < static_cast<double>(kLongestPs) ? std::llround(longer) : kLongestPs + 1;
}

}  // namespace distsim::serving
