#include "collectives/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/median.hpp"

namespace distsim::collectives {

namespace {

// Of the Gauss-Newton iteration. Chosen: sweeps of the model itself with known factors give these back within 4 %
// (tests/collectives/calibration_test.cpp).
constexpr int kRounds = 10;
constexpr double kStep = 0.7;        // of a full step, against overshooting where candidates change
constexpr double kPull = 0.5;        // weight of "factor 1"
constexpr double kPointWeight = 10;  // weight of a point within the noise
constexpr double kNoise = 0.02;      // relative: residuals below it count alike, those above by their size only
constexpr double kMost = 2.0794415;  // ln 8: the largest factor

/// One point: ln(measured / model), and how the model's logarithm moves with the logarithms of the factors.
struct Pull {
  double residual = 0, by_latency = 0, by_bandwidth = 0;
};

Pull pull_of(std::span<const Candidate> scaled, double launch_us, const CurvePoint& p) {
  const Choice best = fastest(scaled, p.bytes);
  const double gpu2 = best.us * best.us, floor2 = launch_us * launch_us, gpu4 = gpu2 * gpu2, floor4 = floor2 * floor2;
  const double total = std::sqrt(std::sqrt(gpu4 + floor4)),
               visible = gpu4 / (gpu4 + floor4);  // d ln(total) / d ln(GPU time)
  const double latency_share = best.candidate->latency_us / best.us;
  return {std::log(p.time_us / total), visible * latency_share, visible * (1 - latency_share)};
}

/// Normal equations of (ln latency, ln bandwidth) from the points alone: a, b, c is the matrix, u, v the right side.
struct Normal {
  double a = 0, b = 0, c = 0, u = 0, v = 0;
};

Normal normal_of(std::span<const Pull> pulls) {
  Normal n;
  for (const Pull& p : pulls) {
    const double w = 1 / std::max(kNoise, std::abs(p.residual)) * kNoise * kPointWeight;  // least absolute deviations
    n.a += w * p.by_latency * p.by_latency;
    n.b += w * p.by_latency * p.by_bandwidth;
    n.c += w * p.by_bandwidth * p.by_bandwidth;
    n.u += w * p.by_latency * p.residual;
    n.v += w * p.by_bandwidth * p.residual;
  }
  return n;
}

/// With the residuals less what all sizes share: that is what the pull has withheld of the factors, and no doubt about them.
std::vector<Pull> apart_from_each_other(std::vector<Pull> pulls) {
  std::vector<double> residuals;
  residuals.reserve(pulls.size());
  for (const Pull& p : pulls) residuals.push_back(p.residual);
  const double shared = upper_median(std::move(residuals));
  for (Pull& p : pulls) p.residual -= shared;
  return pulls;
}

/// One weighted Gauss-Newton step.
void step(const Normal& n, FreeFactors free, double& x, double& y) {
  const double a = n.a + kPull, b = free == FreeFactors::both ? n.b : 0, c = n.c + kPull;
  const double u = n.u - kPull * x, v = n.v - kPull * y;
  const double det = a * c - b * b;  // > 0: the pull is on the diagonal
  if (free == FreeFactors::both) x = std::clamp(x + kStep * (c * u - b * v) / det, -kMost, kMost);
  y = std::clamp(y + kStep * (a * v - b * u) / det, -kMost, kMost);
}

/// Share of the points in what one factor was found to be, against the pull to 1.
double known(double own, double shared, double other) {
  const double curvature = std::max(0.0, own - shared * shared / (other + kPull));
  return curvature / (curvature + kPull);
}

}  // namespace

std::vector<Candidate> calibrated(std::vector<Candidate> candidates, const Calibration& k) {
  for (Candidate& c : candidates) {
    c.latency_us *= k.latency;
    c.gbps /= k.bandwidth;
    c.ramp_us *= k.bandwidth;
    c.fill_us *= k.bandwidth;
    c.fill_gbps /= k.bandwidth;
  }
  return candidates;
}

Calibration carried(const Calibration& k) {
  Calibration out = k;
  out.latency = std::pow(k.latency, k.latency_known);
  out.bandwidth = std::pow(k.bandwidth, k.bandwidth_known);
  return out;
}

Calibration calibrate(std::span<const Candidate> candidates, double launch_us, std::span<const CurvePoint> points,
                      FreeFactors free) {
  CHECK(!candidates.empty() && !points.empty());
  const std::vector<Candidate> plain(candidates.begin(), candidates.end());
  double x = 0, y = 0;
  std::vector<Pull> pulls(points.size());
  Calibration out{1, 1, points.size(), 0};
  for (int round = 0; round <= kRounds; ++round) {
    out.latency = std::exp(x);
    out.bandwidth = std::exp(y);
    const auto scaled = calibrated(plain, out);
    for (std::size_t i = 0; i < points.size(); ++i) pulls[i] = pull_of(scaled, launch_us, points[i]);
    if (round < kRounds) step(normal_of(pulls), free, x, y);
  }
  const Normal n = normal_of(apart_from_each_other(pulls));
  out.latency_known = free == FreeFactors::both ? known(n.a, n.b, n.c) : 0;
  out.bandwidth_known = known(n.c, n.b, n.a);
  std::vector<double> left;
  for (const Pull& p : pulls) left.push_back(std::abs(p.residual));
  out.spread = upper_median(std::move(left));
  return out;
}

}  // namespace distsim::collectives
