// The two figures of a link: t(bytes) = alpha + bytes / beta.
#pragma once

#include <span>

#include "base/result.hpp"

namespace distsim::bench {

struct SizeTime {
  double bytes = 0, seconds = 0;
};

struct AlphaBeta {
  double alpha_s = 0;              ///< time of an empty message, one way
  double beta_bytes_per_s = 0;
  double worst = 0;                ///< largest relative deviation of a point from the line
};

/// Least squares of the relative errors, over points with positive times; alpha and 1/beta are kept at 0 or above. Errors: fewer than two sizes.
Result<AlphaBeta> fit_alpha_beta(std::span<const SizeTime> points);

}  // namespace distsim::bench
