// alltoallv: rank r sends c_r elements to each rank, itself included, where c_r falls linearly over the ranks from c_0
// to c_0 / imbalance. So rank 0 sends `imbalance` times as much as the last rank, all ranks receive the same, and
// imbalance 1 is alltoall. c_r is a multiple of the alignment. The size and count columns are those of rank 0, the most
// loaded.
#include <cmath>

#include "mpi_bench/collective/cases/cases.hpp"

namespace distsim::bench {
namespace {

std::uint64_t count_to_each(std::uint64_t largest, std::uint64_t alignment, int rank, const Shape& shape) {
  if (shape.ranks == 1) return largest;
  const double share = 1 - (1 - 1 / shape.imbalance) * rank / (shape.ranks - 1);
  const auto count = static_cast<std::uint64_t>(std::floor(static_cast<double>(largest) * share));
  return count - count % alignment;
}

Layout unequal(std::uint64_t elements, std::uint64_t alignment, std::uint64_t element_bytes, const Shape& shape) {
  const std::uint64_t largest = equal_part(elements, alignment, shape.ranks);
  const std::uint64_t mine = count_to_each(largest, alignment, shape.rank, shape);
  Layout l{.bytes = largest * shape.ranks * element_bytes, .count = largest, .send_count = mine * shape.ranks};
  l.send_counts.assign(shape.ranks, mine);
  for (int peer = 0; peer < shape.ranks; ++peer) {
    l.recv_counts.push_back(count_to_each(largest, alignment, peer, shape));
    l.recv_count += l.recv_counts.back();
  }
  return l;
}

std::vector<Segment> my_part_of_each(const Layout& l, const Shape& shape) {
  std::vector<Segment> segments;
  std::uint64_t at = 0;
  for (int source = 0; source < shape.ranks; ++source) {
    const std::uint64_t count = l.recv_counts[source];
    segments.push_back({.at = at, .count = count, .source = source, .source_index = count * shape.rank});
    at += count;
  }
  return segments;
}

}  // namespace

CollectiveCase alltoallv_case() {
  return {.kind = Kind::alltoallv,
          .name = "alltoallv",
          .curve_kind = "all_to_all_v",
          .uneven = true,
          .layout = unequal,
          .bus_factor = factor_others,
          .expected = my_part_of_each};
}

}  // namespace distsim::bench
