#include "sim/study/plan_tables/search/search_plan.hpp"

#include <algorithm>
#include <limits>

#include "base/random.hpp"
#include "sim/study/plan_tables/search/packer.hpp"

namespace distsim::study {
namespace {

// Limits on a shard, as parts of the lower bound on a rank's seconds and of its memory: so that from one to about twelve
// fit a rank.
constexpr double kSecondsLimits[] = {1.0, 0.96, 0.92, 0.88, 0.84, 0.8,  0.75, 0.7,  0.65, 0.6, 0.55,
                                     0.5, 0.45, 0.4,  0.35, 0.3,  0.25, 0.2,  0.15, 0.1,  0.07};
// What tables of every rank cost beyond their work: they leave every rank less for the longest shard.
constexpr double kSharedPrices[] = {0, 0.05, 0.15, 0.4, 1, 3};
constexpr double kMemoryLimits[] = {1.0, 0.5, 0.25, 0.12};
constexpr double kTargets[] = {1.005, 1.015, 1.03, 1.05, 1.08, 1.13, 1.2};  // of the bound
constexpr std::size_t kImproved = 4;                                        // of the placements
constexpr double kMemoryFilled = 0.97;  // of all ranks' memory: what is full to the last byte cannot be placed
constexpr int kMultiplierHalvings = 30;

// Of refine. The amount of work ends it, not the time, so that a plan is the same everywhere.
constexpr int kRounds = 4000, kRoundsPerRank = 150;
constexpr std::uint64_t kMostRebuilt = 4;  // ranks beside the most loaded one
constexpr double kWorse = 0.01;            // that a plan may be at first
constexpr double kClose = 1.003;           // of the bound: good enough
constexpr std::uint64_t kSearchSeed = 2022;

struct Limits {
  double seconds, bytes;
  double shared;  ///< work of every rank counts so much more
};

/// The choice of the least work, memory priced by `multiplier`, within the limits; else the one that is least beyond.
std::uint32_t best_choice(const TableProblem& problem, const std::vector<TableChoice>& choices, const Limits& limits,
                          double multiplier) {
  std::uint32_t best = 0;
  std::pair<double, double> least{std::numeric_limits<double>::infinity(), 0};
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    const TableChoice& c = choices[i];
    const double beyond =
        std::max({1.0, c.each.seconds / limits.seconds, static_cast<double>(c.each.memory) / limits.bytes});
    const double shared = c.spread == Spread::everywhere ? 1 + limits.shared : 1;
    const std::pair cost{beyond, shared * problem.work_of(c) + multiplier * problem.memory_of(c)};
    if (cost < least) least = cost, best = i;
  }
  return best;
}

std::vector<std::uint32_t> choices_at(const TableProblem& problem, const Limits& limits, double multiplier) {
  std::vector<std::uint32_t> out;
  for (const auto& choices : problem.tables) out.push_back(best_choice(problem, choices, limits, multiplier));
  return out;
}

double memory_of(const TableProblem& problem, const std::vector<std::uint32_t>& choice) {
  double sum = 0;
  for (std::size_t t = 0; t < choice.size(); ++t) sum += problem.memory_of(problem.tables[t][choice[t]]);
  return sum;
}

/// With the least multiplier at which all tables fit together, or the largest that is tried.
std::vector<std::uint32_t> choices_within(const TableProblem& problem, const Limits& limits, double seconds) {
  const double room = kMemoryFilled * static_cast<double>(problem.memory) * problem.ranks();
  std::vector<std::uint32_t> out = choices_at(problem, limits, 0);
  if (memory_of(problem, out) <= room) return out;
  double low = 0, high = 1e6 * seconds / static_cast<double>(problem.memory);
  for (int i = 0; i < kMultiplierHalvings; ++i) {
    const double mid = i < kMultiplierHalvings / 2 ? std::max(high / 4, low) : (low + high) / 2;
    if (memory_of(problem, choices_at(problem, limits, mid)) > room)
      low = mid;
    else
      high = mid;
  }
  return choices_at(problem, limits, high);
}

/// Distinct lists of choices for all limits on seconds.
std::vector<std::vector<std::uint32_t>> candidates_of(const TableProblem& problem, double bound, double bytes,
                                                      std::size_t stride) {
  std::vector<std::vector<std::uint32_t>> out;
  for (std::size_t i = 0; i < std::size(kSecondsLimits); i += stride) {
    const double part = kSecondsLimits[i];
    for (const double shared : kSharedPrices) {
      auto choice = choices_within(problem, {part * bound, bytes, shared}, bound);
      if (std::find(out.begin(), out.end(), choice) == out.end()) out.push_back(std::move(choice));
    }
  }
  return out;
}

/// Changes a plan a little: some ranks, the most loaded one among them, are built anew towards a target between the plan
/// and the bound; or a table, of the most loaded rank or any, is split in another way.
bool disturb(Packer& packer, const TableProblem& problem, double bound, Random& random) {
  if (random.below(2) == 0) {
    std::vector<std::uint32_t> some{packer.fullest()};
    for (std::uint64_t more = 1 + random.below(kMostRebuilt); more > 0; --more)
      some.push_back(static_cast<std::uint32_t>(random.below(problem.ranks())));
    return packer.rebuild(some, bound + (packer.most() - bound) * random.uniform());
  }
  for (std::uint64_t more = 1 + random.below(2); more > 0; --more) {
    const std::vector<std::uint32_t> here = packer.tables_on(packer.fullest());
    const bool any = here.empty() || random.below(3) == 0;
    const auto table =
        static_cast<std::uint32_t>(any ? random.below(problem.tables.size()) : here[random.below(here.size())]);
    if (!packer.recut(table, static_cast<std::uint32_t>(random.below(problem.tables[table].size())))) return false;
  }
  return true;
}

/// Disturbs and improves again and again. What is not much worse is taken as well, less and less, so that the search
/// leaves local optima.
void refine(Packer& packer, const TableProblem& problem, Packing& best, double bound, std::uint64_t effort) {
  Random random(kSearchSeed);
  const std::uint64_t start = packer.looked_at();
  Packing current = best;
  const int rounds = kRounds + kRoundsPerRank * static_cast<int>(problem.ranks());
  for (int round = 0; round < rounds && best.most > bound * kClose; ++round) {
    const double done = std::max(static_cast<double>(round) / rounds,
                                 static_cast<double>(packer.looked_at() - start) / static_cast<double>(effort));
    if (done >= 1) return;
    packer.restore(current);
    if (!disturb(packer, problem, bound, random)) continue;
    packer.improve(start + effort);
    if (packer.most() > current.most * (1 + kWorse * (1 - done))) continue;
    current = packer.packing();
    if (current.most < best.most) best = current;
  }
}

}  // namespace

/// Plans of candidates that give different tables to every rank, built towards targets a little above the bound.
void build_towards(Packer& packer, const TableProblem& problem, double bound, std::uint64_t effort,
                   const std::vector<std::vector<std::uint32_t>>& candidates, std::vector<Packing>& out) {
  std::set<std::vector<bool>> tried;
  const std::uint64_t end = packer.looked_at() + effort;
  for (const auto& choice : candidates) {
    std::vector<bool> shared(choice.size());
    for (std::size_t t = 0; t < choice.size(); ++t)
      shared[t] = problem.tables[t][choice[t]].spread == Spread::everywhere;
    if (!tried.insert(std::move(shared)).second) continue;
    for (const double above : kTargets) {
      if (packer.looked_at() > end) return;
      if (packer.build(choice, bound * above)) out.push_back(packer.packing());
    }
  }
}

TableSearch search_plan(const TableProblem& problem, double bound, std::uint64_t effort, const Packing* start) {
  TableSearch out;
  std::vector<Packing> placed;
  Packer packer(problem);
  for (const double part : kMemoryLimits) {
    const auto candidates =
        candidates_of(problem, bound, part * static_cast<double>(problem.memory), effort > kShortSearch ? 1 : 3);
    for (const auto& choice : candidates) {
      ++out.evaluated;
      if (packer.place(choice)) placed.push_back(packer.packing());
    }
    build_towards(packer, problem, bound, effort / 6, candidates, placed);
    if (!placed.empty()) break;  // smaller shards only where larger ones find no room
  }
  out.fitting = placed.size();
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.most < b.most; });
  if (start != nullptr) placed.insert(placed.begin(), *start);
  std::size_t improved = 0;
  for (const Packing& first : placed) {
    if (++improved > kImproved && packer.looked_at() > effort / 2) break;
    packer.restore(first);
    packer.improve(packer.looked_at() + effort / kImproved);
    if (!out.packing || packer.most() < out.packing->most) out.packing = packer.packing();
  }
  if (out.packing) refine(packer, problem, *out.packing, bound, effort / 2);
  out.evaluated += packer.looked_at();
  return out;
}

TableProblem restricted(const TableProblem& problem, const std::set<workload::TableSharding>& kinds) {
  TableProblem out = problem;
  for (auto& choices : out.tables) {
    const std::vector<TableChoice> all = choices;
    std::erase_if(choices, [&](const TableChoice& c) { return !kinds.contains(c.sharding); });
    if (choices.empty()) choices = all;
  }
  return out;
}

}  // namespace distsim::study
