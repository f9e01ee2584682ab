#include "sim/study/plan_tables/plan_tables.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "sim/config/flag_sets.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/study/plan_tables/own_placement.hpp"
#include "sim/study/plan_tables/search/greedy_plans.hpp"
#include "sim/study/plan_tables/search/lower_bound.hpp"
#include "sim/study/plan_tables/search/search_plan.hpp"
#include "sim/study/plan_tables/search/tight_bound.hpp"
#include "sim/study/plan_tables/table_order.hpp"
#include "sim/workload/placement/planner.hpp"
#include "sim/workload/registry.hpp"

namespace distsim::study {
namespace {

using config::Experiment;
using workload::TableSharding;

/// Kinds of sharding that plans are also made of: each kind brings collectives of its own, whose latency the costs of
/// single tables do not show.
struct Mixture {
  std::string_view name;
  std::set<TableSharding> kinds;
};
const std::vector<Mixture>& mixtures() {
  using enum TableSharding;
  static const std::vector<Mixture> all{{"table, column, copies", {table_wise, column_wise, data_parallel}},
                                        {"table, column", {table_wise, column_wise}},
                                        {"table, row, copies", {table_wise, row_wise, data_parallel}},
                                        {"table, copies", {table_wise, data_parallel}},
                                        {"node rows, copies", {table_row_wise, grid, data_parallel}},
                                        {"node rows", {table_row_wise, grid}}};
  return all;
}

/// A key that is held and says where tables lie; empty: there is none.
std::string held_place(const PlanTablesOptions& options) {
  for (const char* key : {"parallel.sharding", "parallel.placement", "parallel.placement_file"}) {
    if (config::any_gives(options.sets, key)) return key;
  }
  return "";
}

constexpr const char* kExchangeKey = "framework.embedding.exchange";

struct Setting {
  std::string key, value;
  bool changes_numbers = false;
  std::function<bool(Experiment&)> apply;  ///< false where the experiment has it already
};

template <class T>
bool change(T& field, T value) {
  if (field == value) return false;
  field = value;
  return true;
}

std::vector<Setting> settings(const std::vector<std::string>& held) {
  const auto exchange = [](graph::DType dtype) {
    return [dtype](Experiment& x) {
      auto& dlrm = x.model.as<workload::DlrmSpec>();
      return !dlrm.exchange_dtype && x.model.precision != workload::Precision::fp32
                 ? false
                 : change(dlrm.exchange_dtype, std::optional(dtype));
    };
  };
  std::vector<Setting> out;
  out.push_back({"framework.input.pipeline_distribution", "true", false,
                 [](Experiment& x) { return change(x.framework.input.pipeline_distribution, true); }});
  out.push_back({"framework.embedding.overlap_exchange", "true", false,
                 [](Experiment& x) { return change(x.framework.embedding.overlap_exchange, true); }});
  out.push_back({"model.dlrm.exchange_dtype", "bf16", true, exchange(graph::DType::bf16)});
  out.push_back({"model.dlrm.exchange_dtype", "fp16", true, exchange(graph::DType::fp16)});
  std::erase_if(out, [&](const Setting& setting) { return config::any_gives(held, setting.key); });
  return out;
}

/// An experiment with one of the ways to exchange vectors, and its tables' choices as they cost then.
struct Variant {
  Experiment experiment;
  std::vector<std::string> sets;
  std::shared_ptr<const TableProblem> problem;
};

/// The experiment's own exchange first; on several nodes NCCL's between all pairs and that along rails.
std::vector<Variant> exchanges_of(const Experiment& e, const std::vector<std::string>& held) {
  using workload::EmbeddingExchange;
  std::vector<Variant> out{{e, {}, nullptr}};
  if (e.cluster.nodes < 2 || e.cluster.gpus_per_node < 2 || config::any_gives(held, kExchangeKey)) return out;
  const auto own = workload::embedding_exchange(e.model, e.framework, pipeline::shape_of(e).ranks());
  for (const auto& [name, exchange] :
       {std::pair{"nccl", EmbeddingExchange::nccl}, {"hierarchical", EmbeddingExchange::hierarchical}}) {
    if (exchange == own) continue;
    Variant v{e, {std::string(kExchangeKey) + "=" + name}, nullptr};
    v.experiment.framework.embedding.exchange = exchange;
    out.push_back(std::move(v));
  }
  return out;
}

/// A packing of `some` of the problem's choices, by their numbers in the problem; nothing where it lacks one.
std::optional<Packing> numbered(const TableProblem& problem, const TableProblem& some, Packing packing) {
  for (std::size_t t = 0; t < packing.choice.size(); ++t) {
    const TableChoice& c = some.tables[t][packing.choice[t]];
    const auto& all = problem.tables[t];
    const auto at = std::ranges::find_if(all, [&](const TableChoice& o) {
      return o.sharding == c.sharding && o.spread == c.spread && o.shards == c.shards && o.columns == c.columns;
    });
    if (at == all.end()) return std::nullopt;
    packing.choice[t] = static_cast<std::uint32_t>(at - all.begin());
  }
  return packing;
}

/// Plays plans and keeps them.
class Player {
 public:
  Player(TablesPlan& plan, pipeline::CostModelCache& cache) : plan_(plan), cache_(cache) {}

  /// `packing`: of the variant's problem; none: the experiment's own placement.
  void play(PlayedPlan p, const Variant& variant, const std::optional<Packing>& packing) {
    for (const PlayedPlan& known : plan_.played) {
      if (known.placement.tables == p.placement.tables && known.sets == p.sets) return;
    }
    const Experiment& e = variant.experiment;
    auto figures = figures_of(p.placement.tables.empty() ? e : with_placement(e, p.placement));
    if (figures.ok())
      p.figures = *figures;
    else
      p.error = figures.error().text();
    plan_.played.push_back(std::move(p));
    origins_.push_back({variant, packing});
  }

  void play(std::string name, const Variant& variant, const Packing& packing) {
    play({.name = std::move(name),
          .most = loads_of(*variant.problem, packing).most(),
          .sets = variant.sets,
          .placement = placement_of(*variant.problem, plan_.tables, packing)},
         variant, packing);
  }

  /// Every plan so far with the other exchanges too: what is planned for one may be faster with another.
  void play_crosswise(const std::vector<Variant>& variants) {
    const std::size_t count = plan_.played.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (const Variant& variant : variants) {
        const std::optional<Packing> packing = origins_[i].packing;
        if (!packing || variant.sets == plan_.played[i].sets) continue;
        const auto other = numbered(*variant.problem, *origins_[i].variant.problem, *packing);
        if (other) play(std::string(plan_.played[i].name), variant, *other);
      }
    }
  }

  /// Settings on the fastest plan, one after the other.
  void try_settings(const std::vector<Setting>& all) {
    const std::size_t start = fastest();
    PlayedPlan best = plan_.played[start];
    const std::optional<Packing> packing = origins_[start].packing;
    Variant variant = origins_[start].variant;
    for (const Setting& s : all) {
      Variant changed = variant;
      if (!s.apply(changed.experiment)) continue;
      PlayedPlan p = best;
      p.sets.push_back(s.key + "=" + s.value);
      p.changes_numbers = s.changes_numbers;
      play(std::move(p), changed, packing);
      const PlayedPlan& last = plan_.played.back();
      if (last.figures && last.figures->iteration == best.figures->iteration) {  // without effect
        plan_.played.pop_back();
        origins_.pop_back();
        continue;
      }
      if (s.changes_numbers || !last.figures || last.figures->iteration > best.figures->iteration) continue;
      best = last;
      variant = std::move(changed);
    }
  }

  /// Of those that keep the numbers; the first of equals.
  std::size_t fastest() const {
    std::size_t best = plan_.played.size();
    for (std::size_t i = 0; i < plan_.played.size(); ++i) {
      const PlayedPlan& p = plan_.played[i];
      if (!p.figures || p.changes_numbers || p.keeps_constraints != KeepsConstraints::yes) continue;
      if (best == plan_.played.size() || p.figures->iteration < plan_.played[best].figures->iteration) best = i;
    }
    return best;
  }

  /// Returns the winner's experiment, its tables in the order of its variant's.
  Experiment finish() {
    const std::size_t best = fastest();
    plan_.placement = plan_.played[best].placement;
    plan_.chosen = origins_[best].packing;
    if (plan_.chosen) plan_.problem = *origins_[best].variant.problem;
    const PlayedPlan winner = plan_.played[best];
    std::stable_sort(plan_.played.begin(), plan_.played.end(), [](const PlayedPlan& a, const PlayedPlan& b) {
      if (!a.figures || !b.figures) return a.figures.has_value() && !b.figures;
      return a.figures->iteration < b.figures->iteration;
    });
    const auto at = std::find_if(plan_.played.begin(), plan_.played.end(), [&](const PlayedPlan& p) {
      return p.placement == winner.placement && p.sets == winner.sets;
    });
    plan_.winner = static_cast<std::size_t>(at - plan_.played.begin());
    return origins_[best].variant.experiment;
  }

 private:
  Result<pipeline::Figures> figures_of(const Experiment& experiment) {
    TRY_ASSIGN(const pipeline::FixedWork work, pipeline::fixed_work_of(experiment));
    return pipeline::predict_figures(experiment, cache_, work);
  }

  struct Origin {
    Variant variant;
    std::optional<Packing> packing;
  };
  TablesPlan& plan_;
  pipeline::CostModelCache& cache_;
  std::vector<Origin> origins_;  ///< of plan_.played
};

/// Plans of some kinds of sharding: with the least cost of the most loaded rank, and with compute and exchange apart.
void play_mixture(Player& player, TablesPlan& plan, const Variant& variant, const std::string& name,
                  const TableProblem& some, std::uint64_t effort) {
  const auto bound = lower_bound(some);
  if (!bound) return;
  const auto keep = [&](const TableSearch& found, const std::string& title) {
    plan.evaluated += found.evaluated;
    plan.fitting += found.fitting;
    if (!found.packing) return;
    if (const auto packing = numbered(*variant.problem, some, *found.packing)) player.play(title, variant, *packing);
  };
  const TableSearch found = search_plan(some, *bound, kShortSearch);
  keep(found, "planned" + name);
  if (!found.packing) return;
  const TableProblem phased = by_phases(some, *found.packing);
  keep(search_plan(phased, *bound, effort, &*found.packing), "planned, compute and exchange apart" + name);
}

void play_variant(Player& player, TablesPlan& plan, const Variant& variant) {
  play_mixture(player, plan, variant, "", *variant.problem, 2 * kShortSearch);
  for (const Mixture& m : mixtures())
    play_mixture(player, plan, variant, ": " + std::string(m.name), restricted(*variant.problem, m.kinds),
                 kShortSearch);
  for (const auto& [name, by] : kGreedyBy) {
    if (const auto packing = greedy_plan(*variant.problem, plan.tables, by))
      player.play("greedy by " + std::string(name), variant, *packing);
  }
}

/// As given: what plans are found must not depend on the order of the tables (table_order.hpp).
struct SortedTables {
  TableOrder order;
  Experiment experiment;
  ChoiceRules rules;
};

Result<ChoiceRules> rules_of(const PlanTablesOptions& options, const std::vector<workload::ModelTable>& tables) {
  ChoiceRules rules{{}, options.least_columns, {}};
  if (!options.constraints_file.empty()) {
    TRY_ASSIGN(rules.constraints, read_constraints_file(options.constraints_file, tables));
  }
  return rules;
}

}  // namespace

workload::TablePlans placement_of(const TableProblem& problem, const std::vector<workload::ModelTable>& tables,
                                  const Packing& packing) {
  workload::TablePlans out{"plan", {}};
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TableChoice& c = problem.tables[t][packing.choice[t]];
    workload::TablePlan plan{.sharding = c.sharding};
    for (const std::uint32_t place : packing.places[t]) {
      const std::uint32_t count = c.spread == Spread::nodes ? problem.gpus : 1;
      for (std::uint32_t g = 0; g < count; ++g) plan.ranks.push_back(place * count + g);
    }
    for (std::uint32_t r = 0; c.spread == Spread::everywhere && r < problem.ranks(); ++r) plan.ranks.push_back(r);
    const bool columns = c.sharding == TableSharding::column_wise || c.sharding == TableSharding::grid;
    const bool rows = c.sharding != TableSharding::data_parallel &&
                      (c.spread == Spread::nodes || c.sharding == TableSharding::row_wise);
    const std::int64_t row_pieces = rows ? static_cast<std::int64_t>(plan.ranks.size() / (columns ? c.shards : 1)) : 1;
    const std::int64_t column_pieces = columns ? c.shards : 1;
    for (std::int64_t i = 0; i < row_pieces; ++i)
      plan.rows.push_back(workload::piece_of(tables[t].rows, row_pieces, i));
    for (std::int64_t i = 0; i < column_pieces; ++i)
      plan.columns.push_back(i + 1 == column_pieces ? tables[t].dim - i * c.columns : c.columns);
    plan.line = static_cast<std::uint32_t>(t) + 2;
    out.tables.push_back(std::move(plan));
  }
  return out;
}

config::Experiment with_placement(config::Experiment e, workload::TablePlans placement) {
  e.model.parallel.tables.plans = std::move(placement);
  return e;
}

namespace {

void put_back(const TableOrder& order, workload::TablePlans& plans) {
  if (plans.tables.empty()) return;
  plans.tables = order.given(plans.tables);
  for (std::size_t t = 0; t < plans.tables.size(); ++t) plans.tables[t].line = static_cast<std::uint32_t>(t) + 2;
}

void put_back(const TableOrder& order, Packing& packing) {
  packing.choice = order.given(packing.choice);
  packing.places = order.given(packing.places);
}

/// The plan of tables in their own order.
void put_back(const TableOrder& order, TablesPlan& plan) {
  plan.tables = order.given(plan.tables);
  plan.problem.tables = order.given(plan.problem.tables);
  put_back(order, plan.packing);
  if (plan.chosen) put_back(order, *plan.chosen);
  put_back(order, plan.placement);
  for (PlayedPlan& p : plan.played) put_back(order, p.placement);
}

Error no_tables() { return {"model.dlrm.tables: found none, expected a recommender with tables to place", "", ""}; }

Result<SortedTables> sorted_tables(const Experiment& e, const PlanTablesOptions& options) {
  const auto tables = workload::expand_tables(e.model.as<workload::DlrmSpec>());
  if (tables.empty()) return no_tables();
  TRY_ASSIGN(ChoiceRules rules, rules_of(options, tables));
  TableOrder order(tables, rules.constraints);
  if (!rules.constraints.empty()) rules.constraints = order.sorted(rules.constraints);
  rules.numbers = order.numbers();
  Experiment sorted = order.sorted(e);
  return SortedTables{std::move(order), std::move(sorted), std::move(rules)};
}

Result<TablesPlan> search_sorted(const SortedTables& sorted, pipeline::CostModelCache& cache) {
  TablesPlan plan;
  plan.tables = workload::expand_tables(sorted.experiment.model.as<workload::DlrmSpec>());
  TRY_ASSIGN(plan.problem, price_choices(sorted.experiment, sorted.rules, cache));
  const auto bound = lower_bound(plan.problem);
  TableSearch found = search_plan(plan.problem, bound.value_or(0), whole_search(plan.problem));
  plan.evaluated = found.evaluated;
  plan.fitting = found.fitting;
  if (!bound || !found.packing)
    return Error{"model.dlrm.tables: found no plan in which every shard has room on a GPU, expected one", "",
                 "use more GPUs, embedding_dtype: fp16, or constraints that leave tables more kinds of sharding"};
  plan.linear_bound = plan.bound = *bound;
  plan.packing = std::move(*found.packing);
  plan.splits_tables = std::ranges::any_of(sorted.rules.constraints, [](const TableConstraint& c) {
    return !c.allows(workload::TableSharding::table_wise);
  });
  for (const auto& [name, by] : kGreedyBy) {
    const auto packing = greedy_plan(plan.problem, plan.tables, by);
    plan.greedy.push_back({name, packing ? std::optional(packing->most) : std::nullopt});
    if (packing && packing->most < plan.packing.most) plan.packing = *packing;
  }
  plan.bound = tight_bound(plan.problem, plan.linear_bound, plan.packing.most);
  return plan;
}

/// The experiment with its tables as it has them.
KeepsConstraints keeps_constraints(const Experiment& e, const SortedTables& sorted) {
  if (sorted.rules.constraints.empty()) return KeepsConstraints::yes;
  const std::vector<TableConstraint> constraints = sorted.order.given(sorted.rules.constraints);
  const auto own = own_placement(e);
  if (!own || own->tables.size() != constraints.size()) return KeepsConstraints::unknown;
  KeepsConstraints kept = KeepsConstraints::yes;
  for (std::size_t t = 0; t < constraints.size(); ++t) {
    if (constraints[t].allows(own->tables[t])) continue;
    const bool rows_of_a_node = own->tables[t].sharding == TableSharding::row_wise &&  // it may be called either
                                constraints[t].allows(TableSharding::table_row_wise);
    if (!rows_of_a_node) return KeepsConstraints::no;
    kept = KeepsConstraints::unknown;
  }
  return kept;
}

Error nothing_played(const TablesPlan& plan) {
  return {"plan: found none that can be played, expected one: " + plan.played.back().error, "", ""};
}

/// Tables that lie where a held key says are played with each exchange and setting: nothing is searched.
Result<TablesPlan> plan_held_tables(const Experiment& e, const PlanTablesOptions& options, const std::string& place,
                                    pipeline::CostModelCache& cache) {
  TablesPlan plan;
  plan.held = place;
  plan.tables = workload::expand_tables(e.model.as<workload::DlrmSpec>());
  if (plan.tables.empty()) return no_tables();
  Player player(plan, cache);
  for (const Variant& variant : exchanges_of(e, options.sets))
    player.play({.name = "as configured", .sets = variant.sets}, variant, std::nullopt);
  if (player.fastest() == plan.played.size()) return nothing_played(plan);
  if (options.try_settings) player.try_settings(settings(options.sets));
  plan.placement = own_placement(player.finish()).value_or(workload::TablePlans{});
  return plan;
}

Result<TablesPlan> plan_free_tables(const Experiment& e, const PlanTablesOptions& options,
                                    pipeline::CostModelCache& cache) {
  TRY_ASSIGN(const SortedTables sorted, sorted_tables(e, options));
  TRY_ASSIGN(TablesPlan plan, search_sorted(sorted, cache));
  const ChoiceRules& rules = sorted.rules;
  Player player(plan, cache);
  std::vector<Variant> variants;
  std::vector<Variant> given = exchanges_of(e, options.sets);  // whose own placement may go by the order of the tables
  const KeepsConstraints kept = keeps_constraints(e, sorted);
  for (std::size_t i = 0; Variant & variant : exchanges_of(sorted.experiment, options.sets)) {
    const bool own = variant.sets.empty();
    if (own) {
      variant.problem = std::make_shared<const TableProblem>(plan.problem);
    } else {
      TRY_ASSIGN(TableProblem problem, price_choices(variant.experiment, rules, cache));
      variant.problem = std::make_shared<const TableProblem>(std::move(problem));
    }
    given[i].problem = variant.problem;
    player.play({.name = "as configured", .sets = variant.sets, .keeps_constraints = kept}, given[i++], std::nullopt);
    if (own) player.play("planned", variant, plan.packing);
    if (own || options.try_settings) play_variant(player, plan, variant);
    variants.push_back(variant);
  }
  if (options.try_settings) player.play_crosswise(variants);
  if (player.fastest() == plan.played.size()) return nothing_played(plan);
  if (options.try_settings) player.try_settings(settings(options.sets));
  const Experiment winner = player.finish();
  put_back(sorted.order, plan);
  if (!plan.chosen) plan.placement = own_placement(winner).value_or(workload::TablePlans{});
  return plan;
}

}  // namespace

Result<TablesPlan> search_tables(const config::Experiment& e, const PlanTablesOptions& options,
                                 pipeline::CostModelCache& cache) {
  TRY_ASSIGN(const SortedTables sorted, sorted_tables(e, options));
  TRY_ASSIGN(TablesPlan plan, search_sorted(sorted, cache));
  put_back(sorted.order, plan);
  return plan;
}

Result<TablesPlan> plan_tables(const config::Experiment& e, const PlanTablesOptions& options,
                               pipeline::CostModelCache& cache) {
  const std::string place = held_place(options);
  if (place.empty()) return plan_free_tables(e, options, cache);
  if (options.constraints_file.empty()) return plan_held_tables(e, options, place, cache);
  return Error{"--constraints: found together with --set " + place +
                   ", which says where the tables lie, expected one of the two",
               "", ""};
}

}  // namespace distsim::study
