// Robust statistics of repeated timings.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace distsim::bench {

/// What is kept of a set of samples. Percentiles interpolate linearly between order statistics: position p * (count -
/// 1) of the sorted samples.
struct Summary {
  std::size_t count = 0;
  double mean = 0, min = 0, max = 0;
  double median = 0;
  double mad = 0;  ///< median of |x - median|; 1.4826 x mad estimates the standard deviation of a normal distribution
  double p5 = 0, p10 = 0, p90 = 0, p95 = 0;
};

/// Summary of at least one finite sample.
Summary summarize(std::vector<double> samples);

/// Percentile p in [0, 1] of samples that are sorted already; at least one.
double percentile(std::span<const double> sorted, double p);

/// Standard error of the median over the median, from the MAD: 1.2533 x 1.4826 x mad / sqrt(count) / median (normal
/// samples). Infinite below 3 samples, where the spread is not known, and where the median is 0.
double relative_error_of_median(const Summary& summary);

/// Whether the median is known so badly that a reader should know: a standard error above 5 %, or a tail (95th
/// percentile) above three medians.
bool is_noisy(const Summary& summary);

}  // namespace distsim::bench
