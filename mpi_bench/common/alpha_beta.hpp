// The two figures of a link: t(bytes) = alpha + bytes / beta.
#pragma once

#include <span>

#include "base/result.hpp"

namespace distsim::bench {

struct SizeTime {
  double bytes = 0, seconds = 0;
};

struct AlphaBeta {
  double alpha_s = 0;  ///< time of an empty message, one way
  double beta_bytes_per_s = 0;
  double worst = 0;          ///< largest relative deviation of a point from the line
  double bytes_share = 0;    ///< of the largest size's time; below a half the sizes say little about beta
  double latency_share = 0;  ///< of the smallest size's time; below a half they say little about alpha
};

/// Least squares of the relative errors, so that short messages tell alpha and long ones beta, with Huber's weights: a
/// size that was disturbed does not bend the line (residuals beyond 1.5 standard deviations, as the median of all tells
/// them, count linearly). Only points with positive times count; alpha and 1/beta are kept at 0 or above. With two
/// sizes it is the line through them. Errors: fewer than two sizes.
Result<AlphaBeta> fit_alpha_beta(std::span<const SizeTime> points);

}  // namespace distsim::bench
