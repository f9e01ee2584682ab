// broadcast, sendrecv, all_gather, gather, scatter, alltoall.
#include "mpi_bench/collective/cases/cases.hpp"

namespace distsim::bench {
namespace {

Layout whole_buffer(std::uint64_t elements, std::uint64_t, std::uint64_t element_bytes, const Shape&) {
  return {.bytes = elements * element_bytes, .count = elements, .send_count = elements, .recv_count = elements};
}

Layout gathered(std::uint64_t elements, std::uint64_t alignment, std::uint64_t element_bytes, const Shape& shape) {
  const std::uint64_t part = equal_part(elements, alignment, shape.ranks), total = part * shape.ranks;
  return {.bytes = total * element_bytes,
          .count = part,
          .send_count = part,
          .recv_count = total,
          .send_at = part * shape.rank};
}

Layout exchanged(std::uint64_t elements, std::uint64_t alignment, std::uint64_t element_bytes, const Shape& shape) {
  const std::uint64_t part = equal_part(elements, alignment, shape.ranks), total = part * shape.ranks;
  return {.bytes = total * element_bytes, .count = part, .send_count = total, .recv_count = total};
}

std::vector<Segment> from_root(const Layout& l, const Shape& shape) {
  return {{.at = 0, .count = l.count, .source = shape.root}};
}

std::vector<Segment> from_left_neighbour(const Layout& l, const Shape& shape) {
  return {{.at = 0, .count = l.count, .source = (shape.rank + shape.ranks - 1) % shape.ranks}};
}

/// One part from every rank, in rank order; `source_index` is where each of them took it from.
std::vector<Segment> from_each(const Layout& l, const Shape& shape, std::uint64_t source_index) {
  std::vector<Segment> segments;
  for (int source = 0; source < shape.ranks; ++source)
    segments.push_back({.at = l.count * source, .count = l.count, .source = source, .source_index = source_index});
  return segments;
}

std::vector<Segment> all_parts(const Layout& l, const Shape& shape) { return from_each(l, shape, 0); }

std::vector<Segment> all_parts_at_root(const Layout& l, const Shape& shape) {
  if (shape.rank != shape.root) return {};
  return all_parts(l, shape);
}

std::vector<Segment> my_part_of_root(const Layout& l, const Shape& shape) {
  return {{.at = 0, .count = l.count, .source = shape.root, .source_index = l.count * shape.rank}};
}

std::vector<Segment> my_part_of_each(const Layout& l, const Shape& shape) {
  return from_each(l, shape, l.count * shape.rank);
}

}  // namespace

CollectiveCase broadcast_case() {
  return {.kind = Kind::broadcast,
          .name = "broadcast",
          .curve_kind = "broadcast",
          .rooted = true,
          .layout = whole_buffer,
          .bus_factor = factor_one,
          .expected = from_root};
}

CollectiveCase sendrecv_case() {
  return {.kind = Kind::sendrecv,
          .name = "sendrecv",
          .curve_kind = "send_recv",
          .layout = whole_buffer,
          .bus_factor = factor_one,
          .expected = from_left_neighbour};
}

CollectiveCase all_gather_case() {
  return {.kind = Kind::all_gather,
          .name = "all_gather",
          .curve_kind = "all_gather",
          .layout = gathered,
          .bus_factor = factor_others,
          .expected = all_parts};
}

CollectiveCase gather_case() {
  return {.kind = Kind::gather,
          .name = "gather",
          .curve_kind = "gather",
          .rooted = true,
          .layout = gathered,
          .bus_factor = factor_others,
          .expected = all_parts_at_root};
}

CollectiveCase scatter_case() {
  return {.kind = Kind::scatter,
          .name = "scatter",
          .curve_kind = "scatter",
          .rooted = true,
          .layout = scattered_layout,
          .bus_factor = factor_others,
          .expected = my_part_of_root};
}

CollectiveCase alltoall_case() {
  return {.kind = Kind::alltoall,
          .name = "alltoall",
          .curve_kind = "all_to_all",
          .layout = exchanged,
          .bus_factor = factor_others,
          .expected = my_part_of_each};
}

}  // namespace distsim::bench
