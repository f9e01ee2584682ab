#include "mpi_bench/collective/alpha_beta.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace distsim::bench {
namespace {

double deviation(const SizeTime& p, double alpha, double slope) { return std::abs((alpha + slope * p.bytes) / p.seconds - 1); }

}  // namespace

// With weights w = 1/t^2: minimise sum w (t - a - b n)^2.
Result<AlphaBeta> fit_alpha_beta(std::span<const SizeTime> points) {
  double w = 0, wn = 0, wnn = 0, wt = 0, wnt = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (const SizeTime& p : points) {
    if (!(p.seconds > 0)) continue;
    const double weight = 1 / (p.seconds * p.seconds);
    w += weight;
    wn += weight * p.bytes;
    wnn += weight * p.bytes * p.bytes;
    wt += weight * p.seconds;
    wnt += weight * p.bytes * p.seconds;
    least = std::min(least, p.bytes);
    most = std::max(most, p.bytes);
  }
  if (!(most > least)) return Error{"found fewer than two sizes, expected two or more for latency and bandwidth", "", ""};
  double slope = (w * wnt - wn * wt) / (w * wnn - wn * wn), alpha = (wt - slope * wn) / w;
  if (alpha < 0) {
    alpha = 0;
    slope = wnt / wnn;
  } else if (slope < 0) {
    slope = 0;
    alpha = wt / w;
  }
  AlphaBeta fit{.alpha_s = alpha, .beta_bytes_per_s = slope > 0 ? 1 / slope : std::numeric_limits<double>::infinity()};
  for (const SizeTime& p : points) {
    if (p.seconds > 0) fit.worst = std::max(fit.worst, deviation(p, alpha, slope));
  }
  return fit;
}

}  // namespace distsim::bench
