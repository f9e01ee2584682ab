#include "sim/study/plan_tables/search/tight_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace distsim::study {
namespace {

constexpr int kHalvings = 9;      // of the interval of U: to 0.2 % of the bound
constexpr int kBisections = 10;   // of the bound
constexpr int kMultipliers = 14;  // bisections of a multiplier

/// A dual feasible function: shares below `least` count nothing, above 1 - `least` as 1; or rounded down to parts of
/// `parts` (u_k of Fekete and Schepers).
struct Function {
  double least = 0;
  int parts = 0;

  double operator()(double x) const {
    if (parts == 0) return x > 1 - least ? 1 : x < least ? 0 : x;
    const double scaled = (parts + 1) * x, whole = std::floor(scaled + 1e-9);
    return std::abs(scaled - whole) < 1e-9 ? x : whole / parts;
  }
};
constexpr std::array<Function, 14> kFunctions{{{0, 0},
                                               {0.499999, 0},
                                               {0.45, 0},
                                               {0.4, 0},
                                               {0.35, 0},
                                               {0.3, 0},
                                               {0.25, 0},
                                               {0.2, 0},
                                               {0.15, 0},
                                               {0.1, 0},
                                               {0, 1},
                                               {0, 2},
                                               {0, 3},
                                               {0, 4}}};

/// A choice in one interval: its sum of f, and what it adds to U.
struct Weighed {
  double f = 0, shared = 0;
};
using WeighedTables = std::vector<std::vector<Weighed>>;

/// The choices that a plan of this interval may take, without those that others are no worse than. Empty where a table has
/// none.
WeighedTables weighed(const TableProblem& problem, const Function& f, double capacity, double most_shared) {
  WeighedTables out;
  std::vector<Weighed> some;
  for (const auto& choices : problem.tables) {
    some.clear();
    for (const TableChoice& c : choices) {
      if (c.spread == Spread::everywhere) {
        if (c.each.seconds <= most_shared) some.push_back({0, c.each.seconds});
      } else if (c.each.seconds <= capacity) {
        const double with_one = c.spread == Spread::nodes ? problem.gpus : 1;
        some.push_back({with_one * ((c.shards - 1) * f(c.each.seconds / capacity) + f(c.last.seconds / capacity)), 0});
      }
    }
    if (some.empty()) return {};  // as if all were: no plan
    auto& kept = out.emplace_back();
    const auto least = [&](bool shared) {
      const Weighed* best = nullptr;
      for (const Weighed& w : some) {
        if ((w.shared > 0) != shared) continue;
        if (best == nullptr || w.f + w.shared < best->f + best->shared) best = &w;
      }
      if (best != nullptr) kept.push_back(*best);
    };
    least(false);
    least(true);
  }
  return out;
}

/// Whether the relaxation leaves room on `ranks` ranks with at most `most_shared` seconds shared.
bool has_room(const WeighedTables& tables, double most_shared, double ranks, double largest_multiplier) {
  double low = 0, high = largest_multiplier;
  for (int i = 0; i <= kMultipliers; ++i) {
    const double multiplier = i == 0 ? 0 : (low + high) / 2;
    double value = -multiplier * most_shared, slope = -most_shared;
    for (const auto& choices : tables) {
      const Weighed* best = &choices.front();
      for (const Weighed& w : choices) {
        if (w.f + multiplier * w.shared < best->f + multiplier * best->shared) best = &w;
      }
      value += best->f + multiplier * best->shared;
      slope += best->shared;
    }
    if (value > ranks * (1 + 1e-9)) return false;
    if (i == 0 && slope <= 0) return true;  // the value only falls from here
    (slope > 0 ? low : high) = multiplier;
  }
  return true;
}

/// Whether a plan of so many seconds may have a U of this interval, or of a half of it, and so on.
bool possible(const TableProblem& problem, double seconds, double least, double most, int halvings) {
  const double ranks = problem.ranks(), capacity = seconds - least;
  for (const Function& f : kFunctions) {
    const WeighedTables tables = weighed(problem, f, capacity, most);
    if (tables.empty() || !has_room(tables, most, ranks, 4 * ranks / capacity)) return false;
  }
  if (halvings == 0) return true;
  const double mid = (least + most) / 2;
  return possible(problem, seconds, least, mid, halvings - 1) || possible(problem, seconds, mid, most, halvings - 1);
}

}  // namespace

double tight_bound(const TableProblem& problem, double low, double high) {
  for (int i = 0; i < kBisections && high > low * (1 + 1e-6); ++i) {
    const double mid = (low + high) / 2;
    (possible(problem, mid, 0, mid, kHalvings) ? high : low) = mid;
  }
  return low;
}

}  // namespace distsim::study
