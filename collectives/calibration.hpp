// Calibration: a system's pair of factors, found on one of its sweeps and carried to other groups and other collectives
// of that system.
//
//   time(bytes) = min over candidates of  latency * l(candidate) + bandwidth * (wire + ramp + fill of the candidate at
//   that size)
//
// l, wire, ramp and fill are those of the hardware-facts model; the factors multiply times, so bandwidth 1.2 means that
// bytes take 20 % longer. Found by Gauss-Newton on the logarithm of the times, re-weighted towards the median; a weak
// pull to 1 decides what the available sizes do not determine. A factor is known as far as the sizes outweigh the pull,
//   known = s / (s + pull),   s: curvature of the sum of squares along it, the other factor left free
//
// where sizes weigh by what is left of them beside what all have in common: the pull withholds that, they do not doubt it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/algorithms/candidate.hpp"
#include "collectives/curves/curve_set.hpp"

namespace distsim::collectives {

struct Calibration {
  double latency = 1, bandwidth = 1;              ///< each within 1/8 .. 8
  std::size_t points = 0;                         ///< sizes it was found on; 0: no calibration
  double spread = 0;                              ///< median of |ln(measured / calibrated)| over them
  double latency_known = 1, bandwidth_known = 1;  ///< how far the sizes determine each factor, 0 .. 1
  bool operator==(const Calibration&) const = default;
};

/// What of the factors holds for other groups and kinds: each to the power of how far it is known. A sweep of large
/// sizes says next to nothing about latencies, and what it was given of them stays with its own group.
Calibration carried(const Calibration& calibration);

/// Which factors a sweep can determine: where a launch floor has been taken away, the latency went with it.
enum class FreeFactors : std::uint8_t { both, bandwidth };

/// The candidates with the factors applied.
std::vector<Candidate> calibrated(std::vector<Candidate> candidates, const Calibration& calibration);

/// `candidates` and `points` not empty; `launch_us` as in launch_floor_us.
Calibration calibrate(std::span<const Candidate> candidates, double launch_us, std::span<const CurvePoint> points,
                      FreeFactors free = FreeFactors::both);

}  // namespace distsim::collectives
