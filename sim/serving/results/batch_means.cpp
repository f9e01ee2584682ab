#include "sim/serving/results/batch_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/random.hpp"

namespace distsim::serving {
namespace {

constexpr std::size_t kLeastBatches = 8;

}  // namespace

double student_quantile(double p, std::size_t degrees) {
  CHECK(degrees >= 3) << degrees;
  const double z = normal_quantile(p), n = static_cast<double>(degrees), z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + g1 / n + g2 / (n * n) + g3 / (n * n * n);
}

void BatchMeans::add(double value) {
  if (count_ == 0) shift_ = value;
  ++count_;
  sum_ += value;
  squares_ += (value - shift_) * (value - shift_);
  open_ += value;
  if (++in_open_ < length_) return;
  sums_.push_back(open_);
  open_ = 0;
  in_open_ = 0;
  if (sums_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
  sums_.resize(kMost / 2);
  length_ *= 2;
}

double BatchMeans::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double BatchMeans::variance() const {
  if (count_ < 2) return 0;
  const double n = static_cast<double>(count_), off = mean() - shift_;
  return std::max(0.0, (squares_ - n * off * off) / (n - 1));
}

double BatchMeans::variance_of_means() const {
  double mean = 0, squares = 0;
  const double n = static_cast<double>(sums_.size()), length = static_cast<double>(length_);
  for (const double sum : sums_) mean += sum / length / n;
  for (const double sum : sums_) squares += (sum / length - mean) * (sum / length - mean);
  return squares / (n - 1);
}

double BatchMeans::half_width(double confidence) const {
  if (sums_.size() < kLeastBatches) return std::numeric_limits<double>::infinity();
  const double t = student_quantile(0.5 + confidence / 2, sums_.size() - 1);
  return t * std::sqrt(variance_of_means() / static_cast<double>(sums_.size()));
}

double BatchMeans::independent() const {
  const double count = static_cast<double>(count_);
  if (sums_.size() < kLeastBatches) return count;
  const double batch = variance_of_means() * static_cast<double>(length_);
  return batch > 0 ? std::min(count, count * variance() / batch) : count;
}

std::uint64_t BatchMeans::warm_up(bool may_start_high) const {
  const std::size_t k = sums_.size();
  if (k < kLeastBatches) return 0;
  double total = 0;
  for (const double s : sums_) total += s / static_cast<double>(length_);
  double sum = 0, squares = 0, best = std::numeric_limits<double>::infinity();
  std::size_t cut = 0;
  for (std::size_t d = k; d-- > 0;) {  // with the batches from d on
    const double mean = sums_[d] / static_cast<double>(length_), n = static_cast<double>(k - d);
    sum += mean;
    squares += mean * mean;
    if (d > k / 2) continue;
    if (!may_start_high && d > 0 && (total - sum) / static_cast<double>(d) > sum / n) continue;
    const double error = std::max(0.0, squares - sum * sum / n) / (n * n);
    if (error <= best) {
      best = error;
      cut = d;
    }
  }
  return cut * length_;
}

}  // namespace distsim::serving
