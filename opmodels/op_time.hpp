// What every op model returns, and the arithmetic they share.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "opmodels/hardware/device_rates.hpp"
#include "sim/graph/cost.hpp"

namespace distsim::opmodels {

/// Relative error band of a model, about the 10th and 90th percentile of measured / predicted on public data: low = 1 -
/// p10, high = p90 - 1.
struct Spread {
  double low = 0.3;
  double high = 0.4;
};

struct OpTime {
  double seconds = 0;
  Spread spread;
  std::optional<graph::Basis> basis = {};  ///< nothing: the registry's
  std::string_view source = {};            ///< empty: the registry's
};

/// Two kernels of one op, one after the other: the wider band, the less trusted basis.
OpTime sum_of(const OpTime& a, const OpTime& b);

/// (a^4 + b^4)^(1/4): the larger of the two, rounded up where they are close, because engines that are both busy never
/// overlap perfectly (19 % at equality). Monotone in both, scale free.
inline double overlap(double a, double b) {
  const double high = a > b ? a : b;
  if (high <= 0) return 0;
  const double ratio = (a > b ? b : a) / high;
  const double square = ratio * ratio;
  return high * std::sqrt(std::sqrt(1.0 + square * square));
}

/// The same of three: the order does not matter, overlap(overlap(a, b), c) is (a^4 + b^4 + c^4)^(1/4).
inline double overlap(double a, double b, double c) {
  const double high = a > b ? (a > c ? a : c) : (b > c ? b : c);
  if (high <= 0) return 0;
  const auto fourth = [high](double v) { return (v / high) * (v / high) * (v / high) * (v / high); };
  return high * std::sqrt(std::sqrt(fourth(a) + fourth(b) + fourth(c)));
}

/// Seconds of a kernel that moves `bytes` in all and computes `flops` on the plain lanes: floor + overlap(memory,
/// compute). Tensors that together fit in half of the L2 are taken to be there (the kernel before has just written
/// them); from there to twice the L2 the share that comes from memory rises linearly, (bytes - L2/2) / (1.5 L2).
double streaming_seconds(const DeviceRates& device, double bytes, double flops);

/// Only the memory part of it, without the floor.
double memory_seconds(const DeviceRates& device, double bytes);

/// What no kernel is faster than: the share of the bytes that comes from memory, at the rate of the data sheet.
double least_memory_seconds(const DeviceRates& device, double bytes);

/// The time and the low end of its range, neither below `least` seconds.
OpTime at_least(OpTime time, double least);

}  // namespace distsim::opmodels
