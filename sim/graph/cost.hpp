// Cost: what a cost model returns. Every number carries where it came from and how far it may be off.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.hpp"

namespace distsim::graph {

/// In order of trust.
enum class Basis : std::uint8_t { measured, interpolated, extrapolated, scaled, learned, analytic };
std::string_view name_of(Basis basis);
inline constexpr int kBasisCount = 6;

/// What sets the time of an op. `vector` are the plain lanes.
enum class Bound : std::uint8_t { none, matrix, vector, memory, latency };
std::string_view name_of(Bound bound);

/// Of an op's time, what shrinks as the matrix units, the plain lanes or the memory get faster; the rest is latency.
struct BoundShares {
  double matrix = 0, vector = 0, memory = 0;
};

struct Cost {
  Duration mean;       ///< expected duration of the kernel or transfer itself, without launch or waiting
  Duration low, high;  ///< about the 10th and 90th percentile; low <= mean <= high
  Basis basis = Basis::analytic;
  std::string_view source;    ///< a few words ("DGX A100 sweep, OCI 2023"); owned by the model that returned it
  Bound bound = Bound::none;  ///< the largest share; none: no kernel, or a given time
  BoundShares shares{};
  BoundShares described_shares{};  ///< the same on the device as its file describes it: what fitted corrections go by
  BoundShares busy{};              ///< parts of the time in which each unit draws its full power, opmodels/limits.hpp
  Duration least{};                ///< what the device's sustained rates allow: corrections do not go below
  double channels = 0;  ///< of a collective: thread blocks that transfer on each GPU, on an SM each; mean over its time
  bool wide_products = false;  ///< matrix products of 32 bits or more, whose correction is another (DeviceCalibration)
};

/// `cost` where the SMs run at a clock lower by the factor `slower` (below 1: a higher one): what the matrix units and the
/// plain lanes take goes with it, what memory and latency take does not. Units and memory overlap, so with shares u and m
/// and latency l = 1 - u - m the time is multiplied by l + (u + m) ((u slower^4 + m) / (u + m))^(1/4), the fourth powers
/// that shares are made of. A measured time that this changes is `scaled`. Refuses what leaves the range of Duration.
Result<Cost> at_clock(Cost cost, double slower);

/// Builds a Cost from seconds and relative spreads (0.2: low = 0.8 mean, high = 1.2 mean). Refuses NaN, inf, negative.
Result<Cost> make_cost(double seconds, double spread_low, double spread_high, Basis basis, std::string_view source);

/// The same thing `times` times in a row. Refuses what leaves the range of Duration.
Result<Cost> repeated(const Cost& once, double times);

}  // namespace distsim::graph
