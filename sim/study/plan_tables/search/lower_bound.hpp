// What no plan can be faster than.
//
// The linear relaxation lets a table be split over its choices and each choice over all places. Ranks are alike (a
// rotation of GPUs within nodes, and of nodes, maps every plan to one of the same cost), so the mean of a solution over
// all rotations is a solution whose ranks all have the same load. The relaxation is thus a program without places: with
// W the work of a choice over all ranks, M its memory, c its seconds on one rank, n ranks of memory m, and shares x,
//
//   minimise T   subject to   sum x W <= n T,   sum x M <= n m,   sum over a table's choices of x = 1,   x >= 0
//
// whose one coupling constraint is priced by a multiplier: by duality its value is exactly
//
//   max over L >= 0 of  (sum over tables of min over choices of (W + L M)  -  L n m) / n
//
// A plan of T seconds takes no choice with c > T. Only choices with c <= T may therefore be counted, and the bound is the
// least T whose relaxation with these choices has a value of at most T (as for unrelated machines: Lenstra, Shmoys,
// Tardos 1990). So no solver is needed, and the bound is exact to 1e-9.
#pragma once

#include <optional>

#include "sim/study/plan_tables/search/table_choice.hpp"

namespace distsim::study {

/// Seconds; nothing where the memory of all ranks together does not hold the tables.
std::optional<double> lower_bound(const TableProblem& problem);

/// The value of the relaxation over choices of at most `limit` seconds a rank; nothing where some table has none, or
/// memory does not suffice.
std::optional<double> relaxation(const TableProblem& problem, double limit);

}  // namespace distsim::study
