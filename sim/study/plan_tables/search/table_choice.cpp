#include "sim/study/plan_tables/search/table_choice.hpp"

#include <algorithm>

namespace distsim::study {

ShardCost& ShardCost::operator+=(const ShardCost& o) {
  lookup += o.lookup;
  update += o.update;
  forward += o.forward;
  backward += o.backward;
  return *this;
}

std::uint32_t TableProblem::ranks_of(const TableChoice& c) const {
  if (c.spread == Spread::everywhere) return ranks();
  return c.spread == Spread::nodes ? c.shards * gpus : c.shards;
}

double RankLoads::most() const {
  double most = 0;
  for (const ShardCost& c : cost) most = std::max(most, c.total());
  return most;
}

TableProblem by_phases(TableProblem problem, const Packing& packing) {
  double compute = 0, exchange = 0;
  for (const ShardCost& c : loads_of(problem, packing).cost) {
    compute += c.lookup + c.update;
    exchange += c.forward + c.backward;
  }
  const double both = compute + exchange;
  const double of_compute = compute > 0 ? both / compute : 0, of_exchange = exchange > 0 ? both / exchange : 0;
  for (auto& choices : problem.tables) {
    for (TableChoice& c : choices) {
      for (ShardPrice* p : {&c.each, &c.last})
        p->load = {of_compute * (p->cost.lookup + p->cost.update), of_exchange * (p->cost.forward + p->cost.backward)};
    }
  }
  return problem;
}

RankLoads loads_of(const TableProblem& problem, const Packing& packing) {
  RankLoads out{std::vector<ShardCost>(problem.ranks()), std::vector<std::int64_t>(problem.ranks(), 0)};
  const auto add = [&](std::uint32_t first, std::uint32_t count, const ShardPrice& c) {
    for (std::uint32_t r = first; r < first + count; ++r) {
      out.cost[r] += c.cost;
      out.memory[r] += c.memory;
    }
  };
  for (std::size_t t = 0; t < problem.tables.size(); ++t) {
    const TableChoice& c = problem.tables[t][packing.choice[t]];
    if (c.spread == Spread::everywhere) add(0, problem.ranks(), c.last);
    for (std::size_t i = 0; i < packing.places[t].size(); ++i) {
      const std::uint32_t place = packing.places[t][i];
      if (c.spread == Spread::ranks)
        add(place, 1, c.price(i));
      else
        add(place * problem.gpus, problem.gpus, c.price(i));
    }
  }
  return out;
}

}  // namespace distsim::study
