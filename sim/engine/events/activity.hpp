// Activity: work that proceeds at a speed that changes. Exact: whole picoseconds, speeds in fixed point, work as their
// integer product.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/engine/program/program_check.hpp"

namespace distsim::engine {

/// A fraction of full speed, above 0 and at most 1, in multiples of 2^-36. Fine enough for 1e-8 of accuracy at a 500th
/// of the speed; coarse enough that the rounding of the solver does not part flows that are alike.
class Speed {
 public:
  static constexpr int kBits = 36;
  static constexpr std::uint64_t kFull = std::uint64_t{1} << kBits;
  constexpr Speed() = default;
  /// Rounded to the nearest multiple that is not 0; all of 1 and above is full speed.
  explicit Speed(double fraction) {
    if (fraction < 1) units_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(fraction * kFull)));
  }
  std::uint64_t units() const { return units_; }
  bool operator==(const Speed&) const = default;

 private:
  std::uint64_t units_ = kFull;
};

/// Work done so far, and when some amount will be done at the speed of now.
class WorkDone {
 public:
  explicit WorkDone(std::int64_t start) : since_(start) {}
  void advance_to(std::int64_t now) {
    done_ += static_cast<unsigned __int128>(now - since_) * speed_.units();
    since_ = now;
  }
  void set_speed(Speed speed) { speed_ = speed; }
  Speed speed() const { return speed_; }
  /// `work` is in picoseconds at full speed.
  bool reached(std::int64_t work) const { return done_ >= in_units(work); }
  /// First whole picosecond by which `work` is done, at most kTimeLimit.
  std::int64_t when(std::int64_t work) const {
    if (reached(work)) return since_;
    const unsigned __int128 wait = (in_units(work) - done_ + speed_.units() - 1) / speed_.units();
    const auto most = static_cast<unsigned __int128>(kTimeLimit - since_);
    return since_ + static_cast<std::int64_t>(wait < most ? wait : most);
  }

 private:
  static unsigned __int128 in_units(std::int64_t work) { return static_cast<unsigned __int128>(work) << Speed::kBits; }
  unsigned __int128 done_ = 0;
  std::int64_t since_ = 0;
  Speed speed_;
};

}  // namespace distsim::engine
