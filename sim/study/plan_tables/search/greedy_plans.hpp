// The greedy baselines of NeuroShard (MLSys 2023) and DreamShard (NeurIPS 2022): whole tables, the largest first, each to
// the rank with the least so far that has room. They differ in what is counted.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sim/study/plan_tables/search/table_choice.hpp"
#include "sim/workload/placement/placement.hpp"

namespace distsim::study {

enum class GreedyBy : std::uint8_t { cost, size, dim, lookups, size_lookups };
inline constexpr std::array<std::pair<std::string_view, GreedyBy>, 5> kGreedyBy{
    {{"cost", GreedyBy::cost},
     {"size", GreedyBy::size},
     {"dim", GreedyBy::dim},
     {"lookups", GreedyBy::lookups},
     {"size x lookups", GreedyBy::size_lookups}}};

/// Nothing where some table may not stay whole, or finds no room.
std::optional<Packing> greedy_plan(const TableProblem& problem, const std::vector<workload::ModelTable>& tables,
                                   GreedyBy by);

}  // namespace distsim::study
