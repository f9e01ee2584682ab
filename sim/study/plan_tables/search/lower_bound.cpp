#include "sim/study/plan_tables/search/lower_bound.hpp"

#include <algorithm>
#include <limits>

namespace distsim::study {
namespace {

constexpr int kBoundHalvings = 60;  // of an interval of multipliers or bounds: more than a double's digits

/// Sums over tables at one multiplier.
struct Priced {
  double work = 0, memory = 0;
  bool complete = true;  ///< every table has a choice
};

Priced priced_at(const TableProblem& problem, double limit, double multiplier) {
  Priced sum;
  for (const auto& choices : problem.tables) {
    double least = std::numeric_limits<double>::infinity(), work = 0, memory = 0;
    for (const TableChoice& c : choices) {
      if (c.each.seconds > limit) continue;
      const double w = problem.work_of(c), m = problem.memory_of(c), cost = w + multiplier * m;
      if (cost > least || (cost == least && m >= memory)) continue;
      least = cost, work = w, memory = m;
    }
    sum.complete = sum.complete && least < std::numeric_limits<double>::infinity();
    sum.work += work;
    sum.memory += memory;
  }
  return sum;
}

double least_memory(const TableProblem& problem, double limit) {
  double sum = 0;
  for (const auto& choices : problem.tables) {
    double least = std::numeric_limits<double>::infinity();
    for (const TableChoice& c : choices) {
      if (c.each.seconds <= limit) least = std::min(least, problem.memory_of(c));
    }
    sum += least;
  }
  return sum;
}

}  // namespace

std::optional<double> relaxation(const TableProblem& problem, double limit) {
  const double n = problem.ranks(), room = static_cast<double>(problem.memory) * n;
  const Priced free = priced_at(problem, limit, 0);
  if (!free.complete || least_memory(problem, limit) > room) return std::nullopt;
  if (free.memory <= room) return free.work / n;
  // The dual is concave; its slope at a multiplier is the memory beyond the room.
  double low = 0, high = std::max(free.work, 1e-12) / std::max(room, 1.0);
  while (priced_at(problem, limit, high).memory > room && high < 1e30) high *= 4;
  for (int i = 0; i < kBoundHalvings; ++i) {
    const double mid = (low + high) / 2;
    (priced_at(problem, limit, mid).memory > room ? low : high) = mid;
  }
  const auto value = [&](double multiplier) {
    const Priced p = priced_at(problem, limit, multiplier);
    return (p.work + multiplier * (p.memory - room)) / n;
  };
  return std::max(value(low), value(high));
}

std::optional<double> lower_bound(const TableProblem& problem) {
  const auto holds = [&](double limit) {
    const auto value = relaxation(problem, limit);
    return value && *value <= limit;
  };
  double high = 0;
  for (const auto& choices : problem.tables) {
    for (const TableChoice& c : choices) high = std::max(high, c.each.seconds);
  }
  const auto loosest = relaxation(problem, high);
  if (!loosest) return std::nullopt;
  if (*loosest >= high) return loosest;  // all choices count, and their mean load decides
  double low = 0;
  for (int i = 0; i < kBoundHalvings && high - low > 1e-12 * high; ++i) {
    const double mid = (low + high) / 2;
    (holds(mid) ? high : low) = mid;
  }
  return low;
}

}  // namespace distsim::study
