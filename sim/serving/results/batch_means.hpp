// The mean of a series whose neighbours are alike, with a confidence interval: the method of batch means. (Law, Simulation
// Modeling and Analysis, 5th ed., section 9.5.3.)
//
// The series is cut into batches of equal length; their means are nearly independent where a batch is long, and Student's
// t of them bounds the mean. Memory is flat: 128 batches, and two neighbours become one when all are full, so that 64 to
// 127 are complete at any time from 64 values on.
//
// The warm-up of a run that starts empty: MSER (White, An effective truncation heuristic for bias reduction in simulation
// output, Simulation 69, 1997) leaves out the first d of k batches where the standard error of the others' mean is least,
// d at most k / 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distsim::serving {

/// z with P(T <= z) = p for Student's t with this many degrees of freedom (at least 3): Cornish-Fisher from the normal
/// quantile (Abramowitz and Stegun 26.7.5); relative error below 1 % for p to 0.995 and 5 degrees or more.
double student_quantile(double p, std::size_t degrees);

class BatchMeans {
 public:
  static constexpr std::size_t kMost = 128;

  void add(double value);
  std::uint64_t count() const { return count_; }
  double mean() const;
  /// Sample variance of single values.
  double variance() const;
  std::size_t batches() const { return sums_.size(); }
  std::uint64_t batch_length() const { return length_; }
  /// Half the width of the two-sided interval of this confidence (0.95); infinite below 8 complete batches.
  double half_width(double confidence) const;
  /// How many independent values would tell as much as these: count() x variance of a value / (length x variance of a
  /// batch's mean), at most count().
  double independent() const;
  /// Values to leave out at the start, of a series that starts low as GPUs that are idle do: what is left out is lower in the
  /// mean than the rest, so a burst is not. `may_start_high`: it may be higher, too. `count()` / 2 or more: no steady state
  /// found.
  std::uint64_t warm_up(bool may_start_high = false) const;

 private:
  double variance_of_means() const;
  std::uint64_t count_ = 0, length_ = 1, in_open_ = 0;
  double sum_ = 0, shift_ = 0, squares_ = 0;  ///< shift_: the first value, for the squares' precision
  double open_ = 0;
  std::vector<double> sums_;
};

}  // namespace distsim::serving
