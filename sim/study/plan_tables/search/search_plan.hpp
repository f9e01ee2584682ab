// The search for a plan: how each table is split and where its shards go, so that the most loaded rank costs least.
//
// Splitting a table adds work and makes shards that balance better. For a grid of limits on a shard's seconds (parts of the
// lower bound) and, where memory is short, on its bytes, every table takes the choice of the least work within the limits,
// memory priced by a multiplier such that all tables fit together. The shards are placed largest first, and the best
// placements improved step by step (packer.hpp). Deterministic; the number of steps does not depend on time.
#pragma once

#include <optional>
#include <set>

#include "sim/study/plan_tables/search/table_choice.hpp"

namespace distsim::study {

struct TableSearch {
  std::optional<Packing> packing;  ///< nothing: none was found that fits
  std::uint64_t evaluated = 0;     ///< plans and steps that were looked at
  std::uint64_t fitting = 0;       ///< placements that fit
};

/// Steps and places that a search looks at, at most about: a hundred million a second or two.
inline constexpr std::uint64_t kShortSearch = 20'000'000;
inline std::uint64_t whole_search(const TableProblem& problem) {
  return 40'000'000 + 3'000'000 * std::uint64_t{problem.ranks()};
}

/// `bound`: lower_bound of the problem, of seconds. `start`: a plan to improve beside those that are placed anew.
TableSearch search_plan(const TableProblem& problem, double bound, std::uint64_t effort,
                        const Packing* start = nullptr);

/// The problem with choices of these kinds only; a table that has none of them keeps its own.
TableProblem restricted(const TableProblem& problem, const std::set<workload::TableSharding>& kinds);

}  // namespace distsim::study
