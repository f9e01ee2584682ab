#include "mpi_bench/common/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.hpp"

namespace distsim::bench {
namespace {

double median_deviation(std::span<const double> samples, double median) {
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (double x : samples) deviations.push_back(std::abs(x - median));
  std::sort(deviations.begin(), deviations.end());
  return percentile(deviations, 0.5);
}

}  // namespace

double percentile(std::span<const double> sorted, double p) {
  CHECK(!sorted.empty() && p >= 0 && p <= 1);
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> samples) {
  CHECK(!samples.empty());
  for (double x : samples) CHECK(std::isfinite(x)) << x;
  std::sort(samples.begin(), samples.end());
  Summary s;
  s.count = samples.size();
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  s.min = samples.front();
  s.max = samples.back();
  s.median = percentile(samples, 0.5);
  s.mad = median_deviation(samples, s.median);
  s.p5 = percentile(samples, 0.05);
  s.p10 = percentile(samples, 0.10);
  s.p90 = percentile(samples, 0.90);
  s.p95 = percentile(samples, 0.95);
  return s;
}

double relative_error_of_median(const Summary& s) {
  if (s.count < 3 || s.median <= 0) return std::numeric_limits<double>::infinity();
  return 1.2533 * 1.4826 * s.mad / std::sqrt(static_cast<double>(s.count)) / s.median;
}

bool is_noisy(const Summary& s) { return relative_error_of_median(s) > 0.05 || s.p95 > 3 * s.median; }

}  // namespace distsim::bench
