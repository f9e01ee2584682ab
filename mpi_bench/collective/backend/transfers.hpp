// Collectives that only move data, as the messages of one rank: what a backend with nothing but messages carries out,
// all at once.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi_bench/collective/cases/collective_case.hpp"

namespace distsim::bench {

/// `count` elements from element `at` of the send buffer to `peer`, or from `peer` to element `at` of the result.
struct Transfer {
  int peer = 0;
  std::uint64_t at = 0, count = 0;
  bool operator==(const Transfer&) const = default;
};

struct Exchange {
  std::vector<Transfer> sends, receives;  ///< a rank's message to itself is in both
};

/// Kinds that reduce have none: empty. Messages of no elements are left out; in place, so is a part that already lies
/// where it belongs.
Exchange exchange_of(Kind kind, const Layout& layout, const Shape& shape, bool in_place);

/// Whether exchange_of knows the kind, and whether all its messages may be under way at once within one buffer.
bool moves_only(Kind kind);
bool moves_in_place(Kind kind);

}  // namespace distsim::bench
