// all_reduce, reduce_scatter, reduce.
#include "mpi_bench/collective/cases/cases.hpp"

namespace distsim::bench {
namespace {

Layout same_everywhere(std::uint64_t elements, std::uint64_t, std::uint64_t element_bytes, const Shape&) {
  return {.bytes = elements * element_bytes, .count = elements, .send_count = elements, .recv_count = elements};
}

double all_reduce_factor(int ranks) { return 2 * factor_others(ranks); }

std::vector<Segment> reduced_everywhere(const Layout& l, const Shape&) { return {{.at = 0, .count = l.count}}; }

std::vector<Segment> reduced_part(const Layout& l, const Shape& shape) {
  return {{.at = 0, .count = l.count, .source_index = l.count * shape.rank}};
}

std::vector<Segment> reduced_at_root(const Layout& l, const Shape& shape) {
  if (shape.rank != shape.root) return {};
  return reduced_everywhere(l, shape);
}

}  // namespace

CollectiveCase all_reduce_case() {
  return {.kind = Kind::all_reduce,
          .name = "all_reduce",
          .curve_kind = "all_reduce",
          .reduces = true,
          .layout = same_everywhere,
          .bus_factor = all_reduce_factor,
          .expected = reduced_everywhere};
}

CollectiveCase reduce_scatter_case() {
  return {.kind = Kind::reduce_scatter,
          .name = "reduce_scatter",
          .curve_kind = "reduce_scatter",
          .reduces = true,
          .layout = scattered_layout,
          .bus_factor = factor_others,
          .expected = reduced_part};
}

CollectiveCase reduce_case() {
  return {.kind = Kind::reduce,
          .name = "reduce",
          .curve_kind = "reduce",
          .reduces = true,
          .rooted = true,
          .layout = same_everywhere,
          .bus_factor = factor_one,
          .expected = reduced_at_root};
}

}  // namespace distsim::bench
