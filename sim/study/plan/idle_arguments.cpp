// What was asked of a plan and changes none of its rows.
#include <algorithm>

#include "sim/study/plan/plan.hpp"
#include "sim/study/plan/plan_sites.hpp"

namespace distsim::study {
namespace {

/// The experiment as it is, and as the first row, the last one and the first that does not fit have it: what changes nothing
/// of the experiment itself may decide what else there is.
Result<std::vector<VariedExperiment>> tried_experiments(const PlanRequest& request, const Plan& plan) {
  std::shared_ptr<config::Variants> experiment = request.experiment;
  if (!experiment) {
    TRY_ASSIGN(experiment, config::Variants::of(request.config));
  }
  std::vector<VariedExperiment> out{{experiment, request.sets}};
  const auto add = [&](const PlanRow& row) {
    if (!row.error.empty() || row.sets.empty()) return;
    std::vector<std::string> sets = request.sets;
    for (const std::string& set : row.sets) sets = with_set(std::move(sets), set);
    out.push_back({experiment, std::move(sets)});
  };
  if (plan.rows.empty()) return out;
  add(plan.rows.front());
  add(plan.rows.back());
  const auto unfit = std::ranges::find_if(plan.rows, [](const PlanRow& row) { return !row.fits; });
  if (unfit != plan.rows.end()) add(*unfit);
  return out;
}

/// Why --top shows no other rows; empty where it may.
std::string why_top_is_idle(const PlanRequest& request, const Plan& plan) {
  if (plan.tables) return "all that was played is shown";
  if (plan.goal.second) return "the whole front is shown";
  return plan.counts.played <= static_cast<double>(request.top) ? "no more were played" : "";
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
  add("--draws", plan.rank.drawn == 0 ? "there is no baseline to compare with layouts" : "");
  add("--least-columns", why_columns_are_idle(plan));
  add("--top", why_top_is_idle(request, plan));
  add("--max-played", plan.counts.left == 0 ? "there is no more to play" : "");
  for (const std::string& key : plan.idle) out.push_back({"--vary " + key, "no effect on any row"});
  if (request.sets.empty()) return out;
  const auto experiments = tried_experiments(request, plan);
  if (!experiments) return out;
  for (IdleArgument& set : sets_without_effect(*experiments, request.sets)) out.push_back(std::move(set));
  return out;
}

}  // namespace distsim::study
