// SizeTimes: seconds of one kernel on one GPU at half octaves of its size, each worked out when it is first asked for.
#pragma once

#include <array>
#include <atomic>
#include <limits>

namespace distsim::opmodels {

/// Sizes by half octaves: 1, 2, 3, 4, 6, 8, 12, ...; points 0 and 1 are both 1, for there is no whole number between 1 and 2.
double half_octave(int point);
/// The last point whose size is at most `size`, which is at least 1.
int half_octave_below(double size);

/// Safe to share between threads: two may work out the same figure.
class SizeTimes {
 public:
  static constexpr int kLastPoint = 120;  ///< 2^60

  SizeTimes() {
    for (auto* table : {&learned_, &analytic_}) {
      for (auto& place : *table) place.store(kUnknown, std::memory_order_relaxed);
    }
  }
  template <class Seconds>
  double learned(int point, const Seconds& seconds) {
    return known(learned_[static_cast<std::size_t>(point)], seconds);
  }
  template <class Seconds>
  double analytic(int point, const Seconds& seconds) {
    return known(analytic_[static_cast<std::size_t>(point)], seconds);
  }

 private:
  static constexpr double kUnknown = -1;
  using Table = std::array<std::atomic<double>, kLastPoint + 1>;

  template <class Seconds>
  static double known(std::atomic<double>& place, const Seconds& seconds) {
    double value = place.load(std::memory_order_relaxed);
    if (value == kUnknown) place.store(value = seconds(), std::memory_order_relaxed);
    return value;
  }

  Table learned_, analytic_;
};

}  // namespace distsim::opmodels
