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

/// What a kernel spends most of its time on: arithmetic, or moving bytes to and from the GPU's memory.
enum class Bound : std::uint8_t { compute, memory };

struct Cost {
  Duration mean;       ///< expected duration of the kernel or transfer itself, without launch or waiting
  Duration low, high;  ///< about the 10th and 90th percentile; low <= mean <= high
  Basis basis = Basis::analytic;
  std::string_view source;       ///< a few words ("DGX A100 sweep, OCI 2023"); owned by the model that returned it
  Bound bound = Bound::compute;  ///< of a kernel
};

/// Builds a Cost from seconds and relative spreads (0.2: low = 0.8 mean, high = 1.2 mean). Refuses NaN, inf, negative.
Result<Cost> make_cost(double seconds, double spread_low, double spread_high, Basis basis, std::string_view source);

}  // namespace distsim::graph
