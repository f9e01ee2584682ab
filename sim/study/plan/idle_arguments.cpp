// What was asked of a plan and changes none of its rows.
#include <algorithm>
#include <set>

#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"

namespace distsim::study {
namespace {

struct TriedExperiments {
  std::vector<VariedExperiment> experiments;
  bool are_all = true;  ///< all that were played are among them
};

/// The experiment as it is, and as rows have it: the first, the last, the first that does not fit, and others until every value
/// that a row has is there; of values that are varied and no row has, the first row with them. What changes nothing of the
/// experiment itself may decide what else there is.
Result<TriedExperiments> tried_experiments(const PlanRequest& request, const Plan& plan) {
  std::shared_ptr<config::Variants> experiment = request.experiment;
  if (!experiment) {
    TRY_ASSIGN(experiment, config::Variants::of(request.config));
  }
  TriedExperiments out{{{experiment, request.sets}}};
  std::set<std::string> seen;
  const auto sets_of = [&](const std::vector<std::string>& row) {
    std::vector<std::string> sets = request.sets;
    for (const std::string& set : row) sets = with_set(std::move(sets), set);
    return sets;
  };
  const auto is_tried = [&](const std::vector<std::string>& sets) {
    return std::ranges::any_of(out.experiments, [&](const VariedExperiment& e) { return e.sets == sets; });
  };
  const auto add = [&](const std::vector<std::string>& row) {
    std::vector<std::string> sets = sets_of(row);
    if (out.experiments.size() < kMostTried && !is_tried(sets))
      out.experiments.push_back({experiment, std::move(sets)});
    seen.insert(row.begin(), row.end());
  };
  const auto is_usable = [](const PlanRow& row) { return row.error.empty() && !row.sets.empty(); };
  std::vector<const PlanRow*> rows;
  for (const PlanRow& row : plan.rows)
    if (is_usable(row)) rows.push_back(&row);
  if (rows.empty()) return out;
  add(rows.front()->sets);
  add(rows.back()->sets);
  const auto unfit = std::ranges::find_if(rows, [](const PlanRow* row) { return !row->fits; });
  if (unfit != rows.end()) add((*unfit)->sets);
  const auto is_new = [&](const std::string& set) { return !seen.contains(set); };
  for (const PlanRow* row : rows)
    if (std::ranges::any_of(row->sets, is_new)) add(row->sets);
  for (const SweepAxis& axis : request.varied) {
    for (const std::string& value : axis.values)
      if (is_new(axis.key + "=" + value)) add(with_set(rows.front()->sets, axis.key + "=" + value));
  }
  out.are_all = plan.played_all && static_cast<double>(rows.size()) >= plan.counts.played &&
                std::ranges::all_of(rows, [&](const PlanRow* row) { return is_tried(sets_of(row->sets)); });
  return out;
}

/// Why --top shows no other rows; empty where it may.
std::string why_top_is_idle(const PlanRequest& request, const Plan& plan) {
  if (plan.tables) return "all that was played is shown";
  if (plan.goal.second) return "the whole front is shown";
  return plan.counts.played <= static_cast<double>(request.top) ? "no more were played" : "";
}

std::string why_draws_are_idle(const Plan& plan) {
  if (plan.rank.drawn > 0) return "";
  if (plan.played_all) return "only layouts of language models are drawn, where their framework splits them";
  const bool predicted = std::ranges::any_of(
      plan.rows, [](const PlanRow& row) { return row.kind != PlanRowKind::candidate && row.error.empty(); });
  return predicted ? "none that was drawn fits" : "there is no baseline to compare with layouts";
}

std::string why_exhaustive_is_idle(const Plan& plan) {
  if (plan.played_all) return "everything is played";
  return plan.counts.left > 0 ? "--max-played ended the search" : "";
}

std::string why_columns_are_idle(const Plan& plan) {
  if (!plan.tables) return "no tables are planned";
  return plan.tables->held.empty() ? "" : "--set " + plan.tables->held + " says where the tables lie";
}

}  // namespace

std::vector<IdleArgument> plan_without_effect(const PlanRequest& request, const Plan& plan) {
  std::vector<IdleArgument> out;
  const auto add = [&](const char* flag, const std::string& why) {
    if (!why.empty()) out.push_back({flag, "no effect, " + why});
  };
  add("--exhaustive", why_exhaustive_is_idle(plan));
  add("--draws", why_draws_are_idle(plan));
  add("--least-columns", why_columns_are_idle(plan));
  add("--top", why_top_is_idle(request, plan));
  add("--max-played", plan.counts.left == 0 ? "there is no more to play" : "");
  for (const std::string& key : plan.idle) out.push_back({"--vary " + key, "no effect on any row"});
  if (request.sets.empty()) return out;
  const auto tried = tried_experiments(request, plan);
  if (!tried) return out;
  std::vector<IdleArgument> sets =
      sets_without_effect(tried->experiments, request.sets, "", tried->are_all, request.jobs);
  constexpr std::string_view kFlag = "--set ";
  // What keeps others from being chosen has an effect, though no row shows it.
  if (const auto experiment = tried->experiments.front().experiment->with(request.sets); experiment)
    std::erase_if(sets, [&](const IdleArgument& set) {
      return narrows_search(request, *experiment, set.argument.substr(kFlag.size()));
    });
  for (IdleArgument& set : sets) out.push_back(std::move(set));
  return out;
}

}  // namespace distsim::study
