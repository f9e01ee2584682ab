// Members of a rank's group, for reading a joining step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine/program/program.hpp"

namespace distsim::report {

/// Position in Groups::offsets of the listed group that holds `rank`.
inline std::size_t listed_group_of(const engine::Groups& g, std::uint32_t rank) {
  const auto at = static_cast<std::uint32_t>(std::find(g.members.begin(), g.members.end(), rank) - g.members.begin());
  CHECK(at < g.members.size()) << "rank " << rank << " is in no group";
  return static_cast<std::size_t>(std::upper_bound(g.offsets.begin(), g.offsets.end(), at) - g.offsets.begin()) - 1;
}

/// Calls visit(member) for each member of the group of `rank`, in the group's order.
template <class Visit>
void for_each_member(const engine::Groups& g, std::uint32_t rank, Visit visit) {
  if (!g.members.empty()) {
    const std::size_t group = listed_group_of(g, rank);
    for (std::uint32_t i = g.offsets[group]; i < g.offsets[group + 1]; ++i) visit(g.members[i]);
    return;
  }
  const std::uint32_t block = g.size * g.stride;
  const std::uint32_t first = rank / block * block + rank % g.stride;
  for (std::uint32_t i = 0; i < g.size; ++i) visit(first + i * g.stride);
}

/// Lowest and highest member of the group of `rank` below `limit`; `rank` itself must be below it.
struct MemberRange {
  std::uint32_t first = 0, last = 0;
};
inline MemberRange members_below(const engine::Groups& g, std::uint32_t rank, std::uint32_t limit) {
  MemberRange out{rank, rank};
  if (g.members.empty()) {
    const std::uint32_t block = g.size * g.stride;
    out.first = rank / block * block + rank % g.stride;
    out.last = out.first + std::min(g.size - 1, (limit - 1 - out.first) / g.stride) * g.stride;
    return out;
  }
  for_each_member(g, rank, [&](std::uint32_t member) {
    if (member >= limit) return;
    out.first = std::min(out.first, member);
    out.last = std::max(out.last, member);
  });
  return out;
}

}  // namespace distsim::report
