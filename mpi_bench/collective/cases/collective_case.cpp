#include "mpi_bench/collective/cases/collective_case.hpp"

#include <algorithm>

#include "base/text/names/spelling.hpp"
#include "mpi_bench/collective/cases/cases.hpp"

namespace distsim::bench {

std::span<const CollectiveCase> collective_cases() {
  static const CollectiveCase cases[] = {
      all_reduce_case(), all_gather_case(), reduce_scatter_case(), alltoall_case(), alltoallv_case(),
      broadcast_case(),  reduce_case(),     gather_case(),         scatter_case(),  sendrecv_case(),
  };
  return cases;
}

Result<const CollectiveCase*> find_case(std::string_view name) {
  std::vector<std::string> names;
  for (const CollectiveCase& c : collective_cases()) {
    if (c.name == name || c.curve_kind == name) return &c;
    names.emplace_back(c.name);
  }
  return Error{"found '" + std::string(name) + "', expected a collective", "--collectives", spelling_hint(name, names)};
}

std::uint64_t Layout::in_place_count() const { return std::max(send_at + send_count, recv_at + recv_count); }

Layout layout_of(const CollectiveCase& what, std::uint64_t size_bytes, std::uint64_t element_bytes,
                 const Shape& shape) {
  constexpr std::uint64_t kAlignmentBytes = 16;
  return what.layout(size_bytes / element_bytes, kAlignmentBytes / element_bytes, element_bytes, shape);
}

}  // namespace distsim::bench
