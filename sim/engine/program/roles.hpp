// Roles: ranks that a program cannot tell apart. Ranks of one role have equal durations in every step and meet the same
// roles in every group, so by induction over the steps they have equal times. A program is then played with one rank
// for each role, whatever the number of ranks.
//
// Found by colour refinement: ranks are coloured by their durations, then by the set of colours that they meet, until no
// colour is split any more. (Only the set counts: a group starts at the latest arrival, however many arrive then.)
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/program/program.hpp"

namespace distsim::engine {

/// Numbered by their first rank.
struct Roles {
  std::uint32_t each = 1, repeats = 1;  ///< neighbouring ranks that have the same role, over and over (Row)
  std::vector<std::uint32_t> of_place;  ///< role of ranks each * i .. each * (i + 1) - 1; empty where there is one role
  std::vector<std::uint32_t> first;     ///< lowest rank of a role
  std::vector<std::uint32_t> count;     ///< ranks that have it
  std::uint32_t size() const { return static_cast<std::uint32_t>(first.size()); }
  std::uint32_t of(std::uint32_t rank) const { return of_place.empty() ? 0 : of_place[rank / each % of_place.size()]; }
};

/// Of a valid program. By 64-bit fingerprints; cost: a pass over the rows that differ, and one over the groups for each
/// round of refinement.
Roles roles_of(const Program& program);

/// The program with one rank for each role.
Program program_of_roles(const Program& program, const Roles& roles);

}  // namespace distsim::engine
