#include "opmodels/hardware/embedding_reuse.hpp"

#include <algorithm>
#include <cmath>

namespace distsim::opmodels {
namespace {

constexpr double kExactRows = 12;
constexpr int kBins = 36;
constexpr int kHalvings = 30;  // of a number of rows, to a billionth

/// 1 - (1 - p)^draws without cancellation.
double touched(double p, double draws) { return p >= 1 ? 1.0 : -std::expm1(draws * std::log1p(-p)); }

}  // namespace

RowPopularity::RowPopularity(double rows, double alpha) : rows_(rows), alpha_(alpha), total_(harmonic(rows)) {}

double RowPopularity::harmonic(double rows) const {
  if (alpha_ == 0) return rows;
  if (rows < 1) return std::max(0.0, rows);
  // Integral plus half of both ends plus a twelfth of the difference of slopes.
  const double integral =
      std::abs(alpha_ - 1) < 1e-9 ? std::log(rows) : (std::pow(rows, 1 - alpha_) - 1) / (1 - alpha_);
  const double last = std::pow(rows, -alpha_);
  return integral + 0.5 * (1 + last) + alpha_ / 12 * (1 - last / rows);
}

double RowPopularity::distinct(double draws) const {
  if (draws <= 0) return 0;
  if (alpha_ == 0 || rows_ <= 1) return std::min(draws, rows_ * touched(1 / rows_, draws));
  double sum = 0;
  for (double rank = 1; rank <= std::min(rows_, kExactRows); ++rank)
    sum += touched(std::pow(rank, -alpha_) / total_, draws);
  if (rows_ > kExactRows) sum += tail(draws);
  return std::min({sum, draws, rows_});
}

/// Rows after the first few, in bins of equal ratio; a bin's probability is taken at its geometric middle.
double RowPopularity::tail(double draws) const {
  double low = kExactRows + 0.5;
  const double ratio = std::pow((rows_ + 0.5) / low, 1.0 / kBins);
  const double fade = std::pow(ratio, -alpha_);
  double p = std::pow(low * std::sqrt(ratio), -alpha_) / total_;
  double sum = 0;
  for (int j = 0; j < kBins; ++j, low *= ratio, p *= fade) sum += low * (ratio - 1) * touched(p, draws);
  return sum;
}

double RowPopularity::share_of_top(double top) const {
  return top >= rows_ ? 1.0 : std::min(1.0, harmonic(top) / total_);
}

double RowPopularity::hit_rate(double draws, double cached_rows) const {
  if (draws <= 0) return 0;
  const double rows = distinct(draws);
  if (rows <= cached_rows) return std::max(0.0, 1 - rows / draws);
  return std::max(0.0, hits_in_cache(draws, cached_rows) / draws);
}

/// A larger cache holds the same rows at least: past the number of rows with the most hits, which are few draws for
/// each, that number. The product of a falling line and a concave share has one maximum.
double RowPopularity::hits_in_cache(double draws, double cached_rows) const {
  const auto hits = [&](double rows) { return (draws - rows) * share_of_top(rows); };
  constexpr double kBit = 0.999;
  if (hits(kBit * cached_rows) <= hits(cached_rows)) return hits(cached_rows);
  double low = 0, high = cached_rows;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    (hits(kBit * middle) <= hits(middle) ? low : high) = middle;
  }
  return hits(high);
}

}  // namespace distsim::opmodels
