// The ranks that carry out one collective together, as one of them sees it.
#pragma once

#include <string>
#include <vector>

#include "mpi_bench/collective/ranks/groups.hpp"
#include "mpi_bench/collective/ranks/ranks.hpp"

namespace distsim::bench {

struct Team {
  std::string shape;         ///< "all", "rails", "8x2"
  std::vector<int> members;  ///< ranks of the job; an idle rank is a team of itself
  int index = 0;             ///< this rank's place in `members`
  bool active = true;        ///< false: this rank takes no part in this shape
  int ranks = 1, nodes = 1;  ///< of one group
  int groups = 1;            ///< that run at once
  bool whole() const { return shape == "all"; }
};

inline Team team_of(const Grouping& grouping, const Ranks& ranks) {
  Team team{.shape = grouping.name,
            .members = {ranks.rank()},
            .active = false,
            .ranks = grouping.ranks,
            .nodes = grouping.nodes,
            .groups = static_cast<int>(grouping.members.size())};
  for (const std::vector<int>& members : grouping.members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != ranks.rank()) continue;
      team.members = members;
      team.index = static_cast<int>(i);
      team.active = true;
    }
  }
  return team;
}

}  // namespace distsim::bench
