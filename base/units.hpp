// Strong types for the quantities of the simulator.
//
// Time is an integer count of picoseconds, so that every evaluator, order of evaluation and thread count agrees to the
// last bit. int64 holds 106 days. Everything else is a count (Bytes) or a rate in SI units (bytes per second, ...).
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "base/result.hpp"

namespace distsim {

/// A length of time: signed 64-bit picoseconds. The only way in from floating point is `from_seconds`.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t ps) { return Duration(ps); }
  static constexpr Duration nanoseconds(std::int64_t ns) { return Duration(ns * 1'000); }
  static constexpr Duration microseconds(std::int64_t us) { return Duration(us * 1'000'000); }
  static constexpr Duration milliseconds(std::int64_t ms) { return Duration(ms * 1'000'000'000); }

  /// Longest duration that may enter the simulator: 10^6 s (11.6 days). Sums of many stay far from overflow.
  static constexpr double kMaxSeconds = 1e6;

  /// The only conversion from floating point: checks finite, not negative, at most kMaxSeconds; rounds once, to
  /// nearest.
  static Result<Duration> from_seconds(double seconds);

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr double ms() const { return static_cast<double>(ps_) * 1e-9; }
  constexpr double us() const { return static_cast<double>(ps_) * 1e-6; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(ps_ + o.ps_); }
  constexpr Duration operator-(Duration o) const { return Duration(ps_ - o.ps_); }
  constexpr Duration operator*(std::int64_t k) const { return Duration(ps_ * k); }
  constexpr Duration& operator+=(Duration o) {
    ps_ += o.ps_;
    return *this;
  }

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

/// A strong number: only like adds to like, the plain number comes out through value().
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : v_(v) {}
  constexpr Rep value() const { return v_; }
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(v_ + o.v_); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(v_ - o.v_); }
  constexpr Quantity operator*(Rep k) const { return Quantity(v_ * k); }
  constexpr Quantity& operator+=(Quantity o) {
    v_ += o.v_;
    return *this;
  }

 private:
  Rep v_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;  ///< GB = 1e9 bytes
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using Hertz = Quantity<struct HertzTag, double>;
using Watts = Quantity<struct WattsTag, double>;

}  // namespace distsim
