#include "sim/serving/results/quantiles.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"

namespace distsim::serving {
namespace {

constexpr int kBits = 9;  ///< 512 buckets for each factor of 2
constexpr std::size_t kBuckets = static_cast<std::size_t>(64 - kBits) << kBits;

/// Values below 2^(kBits + 1) have a bucket each.
std::size_t bucket_of(std::int64_t value) {
  const auto v = static_cast<std::uint64_t>(value);
  if (v < (2u << kBits)) return static_cast<std::size_t>(v);
  const int shift = 63 - std::countl_zero(v) - kBits;
  return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(v >> shift);
}

std::int64_t middle_of(std::size_t bucket) {
  if (bucket < (2u << kBits)) return static_cast<std::int64_t>(bucket);
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(bucket - (shift << kBits)) << shift;
  return static_cast<std::int64_t>(low + (std::uint64_t{1} << shift) / 2);
}

}  // namespace

void Quantiles::add(std::int64_t value) {
  CHECK(value >= 0) << value;
  least_ = count_ == 0 ? value : std::min(least_, value);
  greatest_ = count_ == 0 ? value : std::max(greatest_, value);
  ++count_;
  if (!buckets_.empty()) {
    ++buckets_[bucket_of(value)];
    return;
  }
  exact_.push_back(value);
  sorted_ = false;
  if (exact_.size() > kExact) spill();
}

void Quantiles::spill() {
  buckets_.assign(kBuckets, 0);
  for (const std::int64_t value : exact_) ++buckets_[bucket_of(value)];
  exact_ = {};
}

std::int64_t Quantiles::quantile(double q) const {
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
  return of_rank(std::clamp<std::uint64_t>(rank, 1, count_));
}

std::int64_t Quantiles::of_rank(std::uint64_t rank) const {
  CHECK(rank >= 1 && rank <= count_) << rank << " of " << count_;
  if (buckets_.empty()) {
    if (!sorted_) std::sort(exact_.begin(), exact_.end());
    sorted_ = true;
    return exact_[static_cast<std::size_t>(rank - 1)];
  }
  std::uint64_t below = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    below += buckets_[b];
    if (below >= rank) return std::clamp(middle_of(b), least_, greatest_);
  }
  return greatest_;
}

}  // namespace distsim::serving
