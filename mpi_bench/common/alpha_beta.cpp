#include "mpi_bench/common/alpha_beta.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "mpi_bench/common/stats.hpp"

namespace distsim::bench {
namespace {

constexpr int kRounds = 30;
constexpr double kHuber = 1.5;  // residuals beyond so many standard deviations count by their size, not its square
constexpr double kLeastSpread = 1e-3;  // of relative residuals: points that agree better than this are not told apart

struct Line {
  double alpha = 0, slope = 0;
  double at(double bytes) const { return alpha + slope * bytes; }
};

double relative_residual(const SizeTime& p, const Line& line) { return line.at(p.bytes) / p.seconds - 1; }

/// Minimises sum trust / t^2 (t - alpha - slope n)^2 with both figures at 0 or above.
Line weighted_line(std::span<const SizeTime> points, std::span<const double> trust) {
  double w = 0, wn = 0, wnn = 0, wt = 0, wnt = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SizeTime& p = points[i];
    const double weight = trust[i] / (p.seconds * p.seconds);
    w += weight;
    wn += weight * p.bytes;
    wnn += weight * p.bytes * p.bytes;
    wt += weight * p.seconds;
    wnt += weight * p.bytes * p.seconds;
  }
  const double slope = (w * wnt - wn * wt) / (w * wnn - wn * wn), alpha = (wt - slope * wn) / w;
  if (alpha < 0) return {0, wnt / wnn};
  if (slope < 0) return {wt / w, 0};
  return {alpha, slope};
}

/// Huber's weights, with the spread of the residuals told by their median.
std::vector<double> trust_of(std::span<const SizeTime> points, const Line& line) {
  std::vector<double> sizes;
  for (const SizeTime& p : points) sizes.push_back(std::abs(relative_residual(p, line)));
  std::vector<double> trust = sizes;
  std::sort(sizes.begin(), sizes.end());
  const double far = kHuber * std::max(kLeastSpread, 1.4826 * percentile(sizes, 0.5));
  for (double& x : trust) x = x <= far ? 1 : far / x;
  return trust;
}

}  // namespace

Result<AlphaBeta> fit_alpha_beta(std::span<const SizeTime> all) {
  std::vector<SizeTime> points;
  std::copy_if(all.begin(), all.end(), std::back_inserter(points), [](const SizeTime& p) { return p.seconds > 0; });
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [](const SizeTime& a, const SizeTime& b) { return a.bytes < b.bytes; });
  if (points.empty() || !(most->bytes > least->bytes))
    return Error{"found fewer than two sizes, expected two or more for latency and bandwidth", "", ""};
  std::vector<double> trust(points.size(), 1.0);
  Line line = weighted_line(points, trust);
  for (int round = 0; round < kRounds; ++round) {
    trust = trust_of(points, line);
    line = weighted_line(points, trust);
  }
  AlphaBeta fit{.alpha_s = line.alpha,
                .beta_bytes_per_s = line.slope > 0 ? 1 / line.slope : std::numeric_limits<double>::infinity()};
  for (const SizeTime& p : points) fit.worst = std::max(fit.worst, std::abs(relative_residual(p, line)));
  fit.bytes_share = line.slope * most->bytes / line.at(most->bytes);
  fit.latency_share = line.alpha / line.at(least->bytes);
  return fit;
}

}  // namespace distsim::bench
