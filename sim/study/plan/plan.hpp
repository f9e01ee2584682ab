// Plan: the best ways to run an experiment on its cluster, sorted by an objective, with the experiment as it is among them.
//
// Language models: their layouts are searched (layout_search.hpp); the keys of the file's section `parallel` are where the
// search starts from, those of --set and --vary hold. Other families: every combination of the keys that are varied, and
// without any, of those of data parallelism (data_parallel_axes).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"
#include "sim/config/variants.hpp"
#include "sim/report/report.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/study/plan/layouts/layout_search.hpp"
#include "sim/study/plan_tables/plan_tables.hpp"
#include "sim/study/points/team.hpp"
#include "sim/study/sweep/axis.hpp"

namespace distsim::study {

/// Values of one key that a plan chooses from: each is some kilobytes of what the search knows of it.
inline constexpr std::size_t kMostVaried = 100'000;

/// What is bought: so many tokens or samples.
struct Purchase {
  double price_per_gpu_hour = 0;   ///< 0: not given
  double tokens = 0, samples = 0;  ///< one of them, or neither: an iteration
};

/// One that was played, as a search comes by it.
struct PlayedPoint {
  std::vector<std::string> sets;  ///< that make it from the experiment
  Duration iteration;
  double memory = 0;             ///< bytes of the fullest GPU
  double value = 0, second = 0;  ///< of the goal
};

/// How far a search is. What it will come to is not known before: bounds leave out most of what it considers.
struct PlanProgress {
  double considered = 0, played = 0;
  std::vector<PlayedPoint> points;  ///< since the last time
};

struct PlanRequest {
  std::string config;                            ///< its file; with `experiment`, what messages call it
  std::shared_ptr<config::Variants> experiment;  ///< null: that of the file
  std::vector<std::string> sets;
  std::vector<SweepAxis> varied;
  std::vector<std::int64_t> gpus;  ///< numbers of GPUs to choose from; empty: those of the experiment
  Goal goal;
  Purchase purchase;
  std::size_t top = 10;
  bool exhaustive = false;
  std::uint64_t most_played = 0;
  std::size_t draws = 0;  ///< layouts that are drawn at random, to say where the baseline stands
  unsigned jobs = 1;
  PlanTablesOptions tables;  ///< of recommenders
  std::string journal;       ///< a file that keeps what is played; empty: none
  bool resume = false;       ///< the file may hold some already
  Team* team = nullptr;      ///< processes that run the same search and share its plays
  /// After every few plays, on the thread that plans; none: nobody wants to know. Recommenders have their tables planned
  /// at once, and say nothing before the end.
  std::function<void(const PlanProgress&)> on_progress;

  /// The experiment with these overrides. REQUIRES: `experiment`, which plan_experiment sets.
  Result<config::Experiment> with(const std::vector<std::string>& overrides) const {
    return experiment->with(overrides);
  }
};

/// Where the baseline stands among layouts of its job drawn at random from those that fit.
struct BaselineRank {
  std::size_t drawn = 0, faster = 0;  ///< faster than the baseline
};

/// Key of a column where it makes a difference: layouts are compared as they are played block by block.
inline constexpr std::string_view kLayerByLayer = "framework.parallel.layer_by_layer";

/// What a row is taken to be.
enum class PlanRowKind : std::uint8_t { candidate, baseline, baseline_apart };

struct PlanRow {
  PlanRowKind kind =
      PlanRowKind::candidate;       ///< baseline: as given, and among the best; baseline_apart: not among them
  std::vector<std::string> values;  ///< of Plan::keys
  report::Report report;
  bool fits = true;               ///< false without an error: model.memory_check is false
  std::string error;              ///< in one word where it does not fit: "memory"
  double value = 0, second = 0;   ///< of the goal
  double cost = 0;                ///< of the purchase; 0 without a price
  double energy = 0;              ///< joules of the purchase
  std::string why_slower;         ///< than the first row: the part that differs most
  std::vector<std::string> sets;  ///< that make it from the experiment
  std::string machine;            ///< "16 x h100_sxm5_80gb"; empty where it was not predicted
  std::size_t number = 0;         ///< of a combination; of a recommender, in TablesPlan::played
};

struct Plan {
  std::vector<std::string> keys;   ///< dotted, of the columns
  std::vector<std::string> heads;  ///< short, for tables
  std::vector<PlanRow> rows;       ///< best first; an apart baseline last
  SearchCounts counts;
  std::string subject;  ///< model and machine
  BaselineRank rank;
  Goal goal;
  Purchase purchase;
  bool played_all = false;           ///< no bounds: every combination was played
  std::optional<TablesPlan> tables;  ///< of a recommender whose tables were planned
  std::vector<std::string> idle;     ///< keys that were varied and change no row
};

/// `on_played`: after each prediction. Errors: an experiment that is not valid, keys that no key is like, an empty space; that
/// nothing fits, with the smallest change found that would.
Result<Plan> plan_experiment(const PlanRequest& request, const std::function<void()>& on_played);

/// What changes none of the rows: varied keys, those of --set, and flags of the search, also those that were not given.
std::vector<IdleArgument> plan_without_effect(const PlanRequest& request, const Plan& plan);

/// Keys of data parallel jobs with the values that are tried, the experiment's own first: gradient buckets, compression,
/// the algorithms of NCCL (Ring: flat; Tree: within nodes, then between them), accumulation: 1, 2, 4, 8, and of the powers of
/// two the first with which memory suffices, half and twice that. Without those that `sets` hold. `gpus`: numbers to choose from.
std::vector<SweepAxis> data_parallel_axes(const config::Experiment& experiment, const std::vector<std::string>& sets,
                                          const std::vector<std::int64_t>& gpus = {});

/// "64..1024" in powers of two from the first, "64,96".
Result<std::vector<std::int64_t>> parse_gpus(const std::string& text);

/// Where a row spends what another does not: "bubble +312 ms". Empty where nothing differs by 0.05 %.
std::string why_slower(const report::Report& slower, const report::Report& best);

/// Keys of the columns that tables show: those in which rows differ or that are not at their plainest.
std::vector<std::size_t> shown_keys(const Plan& plan);
/// What wins, by how much, and what was looked at: sentences.
std::vector<std::string> plan_summary(const Plan& plan);
std::string plan_csv(const Plan& plan);
std::string plan_text(const Plan& plan);
std::string plan_json(const Plan& plan);
std::string plan_html(const Plan& plan);

}  // namespace distsim::study
