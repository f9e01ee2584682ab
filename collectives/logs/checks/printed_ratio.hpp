// What the two bandwidths of a table tell of its ranks: busbw is algbw times a factor that follows from the ranks, and
// both are printed from one time, so their ratio is as exact as their last digits, whatever the time.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/logs/nccl_tests_row.hpp"
#include "sim/graph/op.hpp"

namespace distsim::collectives {

class PrintedRatio {
 public:
  /// Rows whose algbw is not size over time, and those of old tables that printed algbw in both columns, tell nothing.
  PrintedRatio(const std::vector<const NcclRow*>& rows, graph::CollectiveKind kind);

  /// Whether most of the rows of large bandwidth, at least half of the largest, may be of so many ranks. True where no row
  /// tells anything.
  bool allows(std::uint32_t ranks) const;

  /// The only number of ranks up to 255 that agrees with most of them, no other one better or as well; 0 where there is
  /// none or the digits leave several.
  std::uint32_t ranks() const;

  /// busbw over algbw in the row of the largest algbw; 0 without rows.
  double ratio() const;

 private:
  struct Pair {
    double algbw, busbw;
    double half_algbw_digit, half_busbw_digit;  ///< by which printing may have rounded
  };
  std::size_t agreeing(std::uint32_t ranks) const;

  graph::CollectiveKind kind_;
  std::vector<Pair> pairs_;  ///< the largest algbw first
};

}  // namespace distsim::collectives
