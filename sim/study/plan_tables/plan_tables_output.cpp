// What plan_tables found, as text, CSV and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/json/json_text.hpp"
#include "base/text/counted.hpp"
#include "base/text/csv.hpp"
#include "base/text/quantity_text.hpp"
#include "sim/study/plan_tables/plan_tables.hpp"
#include "sim/workload/placement/placement_file.hpp"

namespace distsim::study {
namespace {

using workload::TablePlan;
using workload::TableSharding;

constexpr std::size_t kMostRanksInText = 16;

std::string in_milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }
std::string gigabytes_of(double bytes) { return fmt::format("{:.2f}", bytes / 1e9); }

std::string_view short_name(TableSharding sharding) {
  switch (sharding) {
    case TableSharding::table_wise:
      return "TW";
    case TableSharding::column_wise:
      return "CW";
    case TableSharding::row_wise:
      return "RW";
    case TableSharding::table_row_wise:
      return "TWRW";
    case TableSharding::grid:
      return "GS";
    case TableSharding::data_parallel:
      return "DP";
  }
  return "?";
}

/// Shards of each rank by kind, "TW 3, CW 2".
std::vector<std::map<TableSharding, int>> shards_by_kind(const TablesPlan& plan) {
  std::vector<std::map<TableSharding, int>> out(plan.problem.ranks());
  for (const TablePlan& t : plan.placement.tables) {
    for (const std::uint32_t rank : t.ranks) ++out[rank][t.sharding];
  }
  return out;
}

std::string text_of_kinds(const std::map<TableSharding, int>& kinds) {
  std::string out;
  for (const auto& [sharding, count] : kinds)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", short_name(sharding), count);
  return out.empty() ? "none" : out;
}

std::string rank_line(const std::string& name, const ShardCost& c, double memory, const std::string& shards) {
  return fmt::format("  {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", name, in_milliseconds(c.total()),
                     in_milliseconds(c.lookup), in_milliseconds(c.forward), in_milliseconds(c.update),
                     in_milliseconds(c.backward), gigabytes_of(memory), shards);
}

/// Total, compute and communication of every rank; of many, the most and the least loaded.
std::string ranks_text(const TablesPlan& plan) {
  const RankLoads loads = loads_of(plan.problem, *plan.chosen);
  const auto kinds = shards_by_kind(plan);
  std::vector<std::size_t> order(loads.cost.size());
  std::iota(order.begin(), order.end(), 0u);
  std::string out = fmt::format("  {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}\n", "rank", "cost ms", "forward",
                                "exchange", "backward", "exchange", "memory GB", "shards");
  if (order.size() > kMostRanksInText)
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return loads.cost[a].total() > loads.cost[b].total(); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order.size() > kMostRanksInText && i == kMostRanksInText / 2) {
      i = order.size() - kMostRanksInText / 2;
      out += fmt::format("  {:>8} {} more\n", "...", order.size() - kMostRanksInText);
    }
    const std::size_t r = order[i];
    out += rank_line(std::to_string(r), loads.cost[r], static_cast<double>(loads.memory[r]), text_of_kinds(kinds[r]));
  }
  ShardCost mean;
  double memory = 0;
  for (std::size_t r = 0; r < loads.cost.size(); ++r)
    mean += loads.cost[r], memory += static_cast<double>(loads.memory[r]);
  const auto n = static_cast<double>(loads.cost.size());
  for (double* part : {&mean.lookup, &mean.forward, &mean.update, &mean.backward}) *part /= n;
  out += rank_line("mean", mean, memory / n, "");
  const double fullest = static_cast<double>(*std::max_element(loads.memory.begin(), loads.memory.end()));
  return out +
         fmt::format("  imbalance (most over mean): cost {:.1f} %, memory {:.1f} %; room for tables {} GB a GPU\n",
                     100 * (loads.most() / mean.total() - 1), memory > 0 ? 100 * (fullest * n / memory - 1) : 0,
                     gigabytes_of(static_cast<double>(plan.problem.memory)));
}

std::string kinds_text(const TablesPlan& plan) {
  std::map<TableSharding, int> tables;
  for (const TablePlan& t : plan.placement.tables) ++tables[t.sharding];
  return text_of_kinds(tables);
}

std::string greedy_text(const TablesPlan& plan) {
  if (plan.splits_tables) return "no greedy plans of whole tables: the constraints forbid that some stay whole\n";
  std::string out = "greedy plans of whole tables, most loaded rank:";
  for (const GreedyRow& g : plan.greedy)
    out += fmt::format(" by {} {};", g.by, g.most ? in_milliseconds(*g.most) + " ms" : std::string("does not fit"));
  out.back() = '\n';
  return out;
}

std::string played_text(const TablesPlan& plan) {
  std::string out = fmt::format("  {:>13} {:>10}  {}\n", "iteration ms", "cost ms", "plan");
  const double best = plan.played[plan.winner].figures->iteration.seconds();
  for (std::size_t i = 0; i < plan.played.size(); ++i) {
    const PlayedPlan& p = plan.played[i];
    std::string name = p.name;
    for (const std::string& set : p.sets) name += ", " + set;
    if (p.changes_numbers) name += " (changes the numbers of training; not chosen)";
    if (p.keeps_constraints == KeepsConstraints::no) name += " (breaks the constraints; not chosen)";
    if (p.keeps_constraints == KeepsConstraints::unknown) name += " (may break the constraints; not chosen)";
    if (!p.figures) {
      out += fmt::format("  {:>13} {:>10}  {}: {}\n", "-", p.most > 0 ? in_milliseconds(p.most) : "-", name, p.error);
      continue;
    }
    const double seconds = p.figures->iteration.seconds();
    if (i != plan.winner) name += fmt::format(" ({:+.1f} %)", 100 * (seconds / best - 1));
    out += fmt::format("{} {:>13} {:>10}  {}\n", i == plan.winner ? "*" : " ", in_milliseconds(seconds),
                       p.most > 0 ? in_milliseconds(p.most) : "-", name);
  }
  return out;
}

/// Bytes and seconds of a rank that holds a shard, as placement files carry them.
const TableChoice& choice_of(const TablesPlan& plan, std::size_t table) {
  return plan.problem.tables[table][plan.chosen->choice[table]];
}

nlohmann::ordered_json shard_json(const TablePlan& t, std::size_t i, std::uint32_t gpus) {
  const std::size_t row = i % t.rows.size(), column = t.columns.size() == 1 ? 0 : i / t.rows.size();
  const auto before = [](const std::vector<std::int64_t>& v, std::size_t end) {
    return std::accumulate(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{0});
  };
  const std::uint32_t rank = t.ranks[i];
  return {{"shard_offsets", {before(t.rows, row), before(t.columns, column)}},
          {"shard_sizes", {t.rows[row], t.columns[column]}},
          {"placement", fmt::format("rank:{}/cuda:{}", rank, rank % gpus)}};
}

/// What was looked at, and how good the best plan is.
std::string searched_text(const TablesPlan& plan) {
  if (!plan.held.empty())
    return fmt::format("{}, which lie where --set {} says\n", counted(plan.tables.size(), "table"), plan.held);
  std::string out = fmt::format("{} on {}: most loaded rank {} ms, no plan is below {} ms (gap {:.2f} %)\n",
                                counted(plan.tables.size(), "table"), counted(plan.problem.ranks(), "GPU"),
                                in_milliseconds(plan.packing.most), in_milliseconds(plan.bound), 100 * plan.gap());
  out += fmt::format("looked at {} plans and changes of plans; {} whole plans fit\n", plan.evaluated, plan.fitting);
  return out + greedy_text(plan);
}

}  // namespace

std::string placement_csv(const TablesPlan& plan) {
  std::string out = "table,sharding,ranks,rows,columns";
  out += plan.chosen ? ",memory,cost\n" : "\n";
  for (std::size_t t = 0; t < plan.placement.tables.size(); ++t) {
    std::vector<std::string> fields = workload::placement_fields(t, plan.placement.tables[t]);
    if (plan.chosen) {
      const TableChoice& c = choice_of(plan, t);
      fields.push_back(std::to_string(c.each.memory));
      fields.push_back(fmt::format("{:.9g}", c.each.seconds));
    }
    out += csv_line(fields);
  }
  return out;
}

std::string placement_csv(const workload::TablePlans& placement) {
  std::string out = "table,sharding,ranks,rows,columns\n";
  for (std::size_t t = 0; t < placement.tables.size(); ++t)
    out += csv_line(workload::placement_fields(t, placement.tables[t]));
  return out;
}

std::string sharding_plan_json(const TablesPlan& plan) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < plan.placement.tables.size(); ++i) {
    const TablePlan& t = plan.placement.tables[i];
    const bool copies = t.sharding == TableSharding::data_parallel;
    nlohmann::ordered_json entry{
        {"sharding_type", t.sharding == TableSharding::grid
                              ? "grid_shard"
                              : std::string(word_of(t.sharding, workload::table_sharding_words()))},
        {"compute_kernel", copies ? "dense" : "fused"},
        {"ranks", t.ranks},
        {"sharding_spec", nullptr}};
    if (!copies) {
      nlohmann::ordered_json shards = nlohmann::ordered_json::array();
      for (std::size_t s = 0; s < t.ranks.size(); ++s) shards.push_back(shard_json(t, s, plan.problem.gpus));
      entry["sharding_spec"] = {{"shards", std::move(shards)}};
    }
    tables["table_" + std::to_string(i)] = std::move(entry);
  }
  return json_text(nlohmann::ordered_json{{"plan", {{"sparse_arch.embedding_bag_collection", std::move(tables)}}}}, 1) +
         "\n";
}

std::string describe(const TablesPlan& plan) {
  std::string out = searched_text(plan);
  if (plan.played.empty()) return out;
  out += "\nplayed, fastest first\n" + played_text(plan);
  if (!plan.chosen) return out + "\nthe tables as the experiment has them are the fastest\n";
  return out + "\nranks (tables: " + kinds_text(plan) + ")\n" + ranks_text(plan);
}

}  // namespace distsim::study
