// Whether more came than could be served, of all requests or of a part of them that must be served: over a long time, by
// what a policy does with it, or for a while.
//
// Backlog is what any policy would have left (capacity.hpp): V grows by the work of each request that comes, in seconds of all
// GPUs together, and falls by one second a second, to 0 at least. Since V was last 0, the work that came is uncertain by
// the root of the sum of its squares, as it is of Poisson arrivals: with independent gaps of any load below capacity,
//     chance(V reaches v) is about exp(-2 z^2),   z^2 = v^2 / sum of squared work.
//
//   over a long time   the load's rate is above the capacity. Arrivals of a file have the rate that they have, which says
//                      something where their backlog at the end is more than chance (z at least 4).
//   by the policy      the number of requests in the system grows in each third of the run, in all by more than four standard
//                      errors of its increments, and less than half of it is the backlog that any policy would have.
//   for a while        one stretch with backlog that is more than chance has at least a hundredth of the requests: the
//                      99th percentile is that of this one event.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "sim/serving/emulator/capacity.hpp"
#include "sim/serving/results/tally.hpp"

namespace distsim::serving {

class Overload {
 public:
  explicit Overload(Capacity capacity) : capacity_(std::move(capacity)) {}
  const Capacity& capacity() const { return capacity_; }

  /// A request comes; `factor` of its own time, `in_system` with it.
  void arrival(std::int64_t now_ps, std::uint32_t model, double factor, std::uint64_t in_system) {
    const double now = static_cast<double>(now_ps) * 1e-12, work = capacity_.work_s[model] * factor;
    if (arrivals_ == 0) first_s_ = now;
    left_s_ -= now - at_s_;
    at_s_ = now;
    if (left_s_ <= 0) {
      end_stretch();
      left_s_ = 0;
      squares_ = 0;
      here_ = {0, now, 0};
      sure_ = false;
    }
    left_s_ += work;
    asked_s_ += capacity_.work_s[model];
    squares_ += work * work;
    ++here_.requests;
    here_.most_s = std::max(here_.most_s, left_s_);
    sure_ = sure_ || ends_behind();
    ++arrivals_;
    last_in_system_ = in_system;
    if (arrivals_ == next_) sample(in_system);
  }

  /// Of all arrivals so far: the stretch with the most requests, where it has enough to tell.
  OverloadStretch longest() const {
    const OverloadStretch most = sure_ && here_.requests > longest_.requests ? here_ : longest_;
    return 100 * most.requests >= arrivals_ ? most : OverloadStretch{};
  }
  /// Arrivals a second, from the first to the last; 0: all came at once.
  double rate_per_s() const { return at_s_ > first_s_ ? static_cast<double>(arrivals_ - 1) / (at_s_ - first_s_) : 0; }
  /// The work that requests asked for, without factors of their own.
  double asked_s() const { return asked_s_; }
  /// What is left at the last arrival is more than chance.
  bool ends_behind() const { return left_s_ > 0 && left_s_ * left_s_ >= kSure * squares_; }

  /// The number in the system grows all the time, by what the policy does.
  bool grows() const {
    const auto n = static_cast<std::size_t>(size_);
    if (n < kFewest || last_in_system_ < kFewest || 100 * last_in_system_ < arrivals_) return false;
    const double last = samples_[n - 1], grown = last - samples_[0];
    const double any_policy = std::isfinite(capacity_.rate_per_s) ? left_s_ * capacity_.rate_per_s : 0;
    if (grown <= 0 || any_policy > last / 2) return false;
    for (std::size_t third = 0; third < 3; ++third) {
      const double begin = samples_[third * (n - 1) / 3], end = samples_[(third + 1) * (n - 1) / 3];
      if (end - begin < grown / 6) return false;
    }
    double squares = 0;
    const double steps = static_cast<double>(n - 1), mean = grown / steps;
    for (std::size_t i = 1; i < n; ++i) squares += std::pow(samples_[i] - samples_[i - 1] - mean, 2);
    return grown * grown >= kSure * squares * steps / (steps - 1);
  }

 private:
  static constexpr double kSure = 16;  ///< z^2: a chance of e^-32
  static constexpr std::size_t kFewest = 24, kMost = 96;

  void end_stretch() {
    if (sure_ && here_.requests > longest_.requests) longest_ = here_;
  }
  /// Evenly spaced; when there are too many every second one stays.
  void sample(std::uint64_t in_system) {
    samples_[size_++] = static_cast<double>(in_system);
    if (size_ == kMost) {
      for (std::size_t i = 0; i < kMost / 2; ++i) samples_[i] = samples_[2 * i + 1];
      size_ = kMost / 2;
      spacing_ *= 2;
    }
    next_ += spacing_;
  }

  Capacity capacity_;
  double left_s_ = 0, asked_s_ = 0, at_s_ = 0, first_s_ = 0, squares_ = 0;
  bool sure_ = false;
  OverloadStretch here_, longest_;
  std::uint64_t arrivals_ = 0, last_in_system_ = 0, next_ = 1, spacing_ = 1;
  std::array<double, kMost> samples_{};
  std::size_t size_ = 0;
};

}  // namespace distsim::serving
