// The relaxation of lower_bound.hpp with what it leaves out: every rank also carries the load U of the tables that all
// ranks share, and shards do not fill a rank to the last.
//
// Suppose a plan of T seconds. Its U lies in some interval [u, v] of those that [0, T] is cut into, so its other shards share
// ranks of at most C = T - u seconds each: none is longer than C, and for every dual feasible function f (one for which
// sums of x up to 1 have sums of f(x) up to 1; Fekete and Schepers 2001) the sum of f(c / C) over the shards is at most
// the number of ranks n. As in lower_bound.hpp shares of choices are relaxed to numbers between 0 and 1 and the one
// coupling constraint, U <= v, is priced: where
//
//   max over L >= 0 of  sum over tables of min over choices of (sum of f(c / C) over its shards + L e)  -  L v  >  n
//
// (e: what the choice adds to U) for some f, no such plan exists. The bound is the least T for which some interval is left
// over. The functions are x itself, which makes it no less than the relaxation, those that drop short shards
// and fill up for long ones, and roundings.
#pragma once

#include "sim/study/plan_tables/search/table_choice.hpp"

namespace distsim::study {

/// Between `low`, a bound already, and `high`, the seconds of a plan; to a thousandth of their difference.
double tight_bound(const TableProblem& problem, double low, double high);

}  // namespace distsim::study
