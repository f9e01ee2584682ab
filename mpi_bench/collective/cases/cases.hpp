// The entries of collective_cases(), one function each.
#pragma once

#include "mpi_bench/collective/cases/collective_case.hpp"

namespace distsim::bench {

CollectiveCase all_reduce_case();
CollectiveCase reduce_scatter_case();
CollectiveCase reduce_case();
CollectiveCase all_gather_case();
CollectiveCase alltoall_case();
CollectiveCase alltoallv_case();
CollectiveCase broadcast_case();
CollectiveCase gather_case();
CollectiveCase scatter_case();
CollectiveCase sendrecv_case();

/// Elements of one of n equal parts: a multiple of `alignment`.
inline std::uint64_t equal_part(std::uint64_t elements, std::uint64_t alignment, int ranks) {
  const std::uint64_t part = elements / static_cast<std::uint64_t>(ranks);
  return part - part % alignment;
}

/// Every rank (or the root) sends n parts; each rank receives one.
inline Layout scattered_layout(std::uint64_t elements, std::uint64_t alignment, std::uint64_t element_bytes,
                               const Shape& shape) {
  const std::uint64_t part = equal_part(elements, alignment, shape.ranks), total = part * shape.ranks;
  return {.bytes = total * element_bytes,
          .count = part,
          .send_count = total,
          .recv_count = part,
          .recv_at = part * shape.rank};
}

inline double factor_one(int) { return 1; }
inline double factor_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

}  // namespace distsim::bench
