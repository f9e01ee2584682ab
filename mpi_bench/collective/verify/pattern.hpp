// Test data whose result is known exactly: small integers that every type represents and whose sums and products never
// round. Element i of rank r is a hash of (r, i mod kPeriod); the period is a prime above any chunk size in use, so
// that a part in the wrong place shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpi_bench/collective/cases/collective_case.hpp"
#include "mpi_bench/collective/cases/data_type.hpp"

namespace distsim::bench {

/// `op` is empty for collectives that only move data.
struct PatternSpec {
  DataType type = DataType::float32;
  std::optional<RedOp> op;
  int ranks = 1;
};

inline constexpr std::uint64_t kPeriod = 16381;

/// Value of element `index` of `rank`, and of the reduction over all ranks. Both at most exact_limit of the type.
std::uint64_t pattern_value(const PatternSpec& spec, int rank, std::uint64_t index);
std::uint64_t reduced_value(const PatternSpec& spec, std::uint64_t index);

/// The pattern of `source` (a rank, or Segment::kReduced) as bytes, ready to be copied out from any index on.
class PatternBytes {
 public:
  /// Elements first .. first + count - 1 can be asked for.
  PatternBytes(const PatternSpec& spec, int source, std::uint64_t first, std::uint64_t count);
  /// Fills `out` (whole elements) with elements first + offset, ...
  void copy(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::size_t element_bytes_;
  std::vector<std::byte> tile_;  ///< elements first .. first + min(count, kPeriod) - 1
};

}  // namespace distsim::bench
