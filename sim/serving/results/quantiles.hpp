// Quantiles of many times in bounded memory.
//
// The q-quantile of n values is the ceil(q n)-th smallest. Up to kExact values it is exact. Beyond, values are counted in
// buckets of which there are 512 for each factor of 2, and the middle of a bucket stands for its values: the relative
// error is at most 1/1024 (0.1 %). Minimum and maximum stay exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distsim::serving {

class Quantiles {
 public:
  static constexpr std::size_t kExact = 16'384;
  static constexpr double kRelativeError = 1.0 / 1024;

  /// Precondition: value >= 0.
  void add(std::int64_t value);
  std::uint64_t count() const { return count_; }
  /// Precondition: count() > 0, 0 <= q <= 1.
  std::int64_t quantile(double q) const;
  /// The value of this rank, 1 to count().
  std::int64_t of_rank(std::uint64_t rank) const;

 private:
  void spill();
  std::uint64_t count_ = 0;
  std::int64_t least_ = 0, greatest_ = 0;
  mutable std::vector<std::int64_t> exact_;
  mutable bool sorted_ = true;
  std::vector<std::uint64_t> buckets_;
};

}  // namespace distsim::serving
