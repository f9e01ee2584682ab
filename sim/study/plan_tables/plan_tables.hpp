// plan_tables: how the embedding tables of a recommender should be split over its GPUs, and what that brings.
//
//   1. every choice of every table is priced once (price_choices.hpp)
//   2. what no plan can be faster than (search/lower_bound.hpp, search/tight_bound.hpp)
//   3. plans by search (search/search_plan.hpp), over all kinds of sharding and over some only, and with each exchange;
//      greedy plans to compare (search/greedy_plans.hpp)
//   4. all of them, and the tables as the experiment has them, are played as whole experiments; the fastest wins
//      Where a key that says where tables lie is held, these are those that the experiment has, with each exchange,
//      and 1 to 3 are left out
//   5. of the winner, settings that keep every number: ids sent ahead, exchange beside the bottom MLP; each that makes it
//      faster stays. Smaller types in the exchange are played and shown, not chosen
//
// Costs of 1 to 3 are the seconds of the most loaded rank on tables; times of 4 and 5 those of iterations.
#pragma once

#include <string>
#include <vector>

#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan_tables/price_choices.hpp"

namespace distsim::study {

struct PlanTablesOptions {
  std::string constraints_file;  ///< table_constraints.hpp; empty: none
  std::int64_t least_columns = kLeastColumns;
  bool try_settings = true;       ///< step 5
  std::vector<std::string> sets;  ///< KEY=VALUE that hold: nothing else is tried for their keys
  std::string wanted_by;          ///< the flag that is of no use unless tables are planned; empty: none
};

/// Whether a plan keeps to the constraints of the tables: of a placement that no file can state (own_placement.hpp), nobody knows.
enum class KeepsConstraints : std::uint8_t { yes, no, unknown };

/// A plan or setting that was played.
struct PlayedPlan {
  std::string name;
  double most = 0;                ///< seconds of the most loaded rank; 0 for the experiment's own placement
  std::vector<std::string> sets;  ///< KEY=VALUE that it needs beside its placement
  bool changes_numbers = false;   ///< results of training differ: shown, not chosen
  KeepsConstraints keeps_constraints = KeepsConstraints::yes;  ///< else shown, not chosen
  std::optional<pipeline::Figures> figures;
  std::string error;               ///< where it could not be played
  workload::TablePlans placement;  ///< empty: the experiment's own
};

/// A greedy plan; nothing where it does not fit, or there is none (TablesPlan::splits_tables).
struct GreedyRow {
  std::string_view by;
  std::optional<double> most;
};

struct TablesPlan {
  std::vector<workload::ModelTable> tables;
  TableProblem problem;
  Packing packing;                 ///< of the least cost that was found
  workload::TablePlans placement;  ///< of the winner; empty where that is the experiment's own and no file states it
  std::optional<Packing> chosen;   ///< the winner's; none: the experiment's own placement is the fastest
  double linear_bound = 0;         ///< seconds: lower_bound.hpp
  double bound = 0;                ///< seconds: tight_bound.hpp
  std::vector<GreedyRow> greedy;
  bool splits_tables = false;  ///< constraints forbid that a table stays whole
  std::uint64_t evaluated = 0, fitting = 0;
  std::string held;                ///< a key of `sets` that says where the tables lie, so that nothing is searched
  std::vector<PlayedPlan> played;  ///< the fastest first, what could not be played last
  std::size_t winner = 0;          ///< of `played`

  double gap() const { return bound > 0 ? packing.most / bound - 1 : 0; }
};

/// The tables alone (steps 1 to 3 with all kinds of sharding): milliseconds, and nothing is played.
Result<TablesPlan> search_tables(const config::Experiment& experiment, const PlanTablesOptions& options,
                                 pipeline::CostModelCache& cache);

/// All steps. Errors: of price_choices; nothing that can be played.
Result<TablesPlan> plan_tables(const config::Experiment& experiment, const PlanTablesOptions& options,
                               pipeline::CostModelCache& cache);

/// A packing as lines of a placement file.
workload::TablePlans placement_of(const TableProblem& problem, const std::vector<workload::ModelTable>& tables,
                                  const Packing& packing);

/// The experiment with its tables so placed.
config::Experiment with_placement(config::Experiment experiment, workload::TablePlans placement);

// Outputs (plan_tables_output.cpp).

/// The winner as a placement file, with memory (bytes of a rank's shard) and cost (seconds, of the rank that holds it)
/// carried along, except of the experiment's own placement.
std::string placement_csv(const TablesPlan& plan);
/// Any placement as such a file, without memory and cost.
std::string placement_csv(const workload::TablePlans& placement);
/// The winner as a sharding plan in TorchRec's words: module, table, sharding_type, compute_kernel, ranks and shards.
std::string sharding_plan_json(const TablesPlan& plan);
/// What was played, the fastest first; what the planner looked at; the winner's ranks.
std::string describe(const TablesPlan& plan);

}  // namespace distsim::study
