#include "sim/study/plan_tables/search/greedy_plans.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"

namespace distsim::study {
namespace {

double amount_of(GreedyBy by, const workload::ModelTable& t, const TableChoice& whole) {
  const double size = static_cast<double>(t.rows) * static_cast<double>(t.dim);
  switch (by) {
    case GreedyBy::cost:
      return whole.each.seconds;
    case GreedyBy::size:
      return size;
    case GreedyBy::dim:
      return static_cast<double>(t.dim);
    case GreedyBy::lookups:
      return t.pooling_factor;
    case GreedyBy::size_lookups:
      return size * t.pooling_factor;
  }
  CHECK(false) << "greedy by " << static_cast<int>(by);
  return 0;
}

}  // namespace

std::optional<Packing> greedy_plan(const TableProblem& problem, const std::vector<workload::ModelTable>& tables,
                                   GreedyBy by) {
  Packing out{{}, std::vector<std::vector<std::uint32_t>>(tables.size()), 0};
  std::vector<double> amount(tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto& choices = problem.tables[t];
    const auto whole = std::find_if(choices.begin(), choices.end(), [](const TableChoice& c) {
      return c.sharding == workload::TableSharding::table_wise;
    });
    if (whole == choices.end()) return std::nullopt;
    out.choice.push_back(static_cast<std::uint32_t>(whole - choices.begin()));
    amount[t] = amount_of(by, tables[t], *whole);
  }
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return amount[a] > amount[b]; });
  std::vector<double> sum(problem.ranks(), 0);
  std::vector<std::int64_t> memory(problem.ranks(), 0);
  for (const std::size_t t : order) {
    const TableChoice& c = problem.tables[t][out.choice[t]];
    std::optional<std::uint32_t> best;
    for (std::uint32_t r = 0; r < problem.ranks(); ++r) {
      if (memory[r] + c.each.memory <= problem.memory && (!best || sum[r] < sum[*best])) best = r;
    }
    if (!best) return std::nullopt;
    sum[*best] += amount[t];
    memory[*best] += c.each.memory;
    out.places[t] = {*best};
  }
  out.most = loads_of(problem, out).most();
  return out;
}

}  // namespace distsim::study
