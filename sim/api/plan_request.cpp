#include "sim/api/plan_request.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/text/names/spelling.hpp"
#include "base/text/printable.hpp"
#include "sim/api/axes.hpp"
#include "sim/config/flag_sets.hpp"
#include "sim/study/plan/plan_sites.hpp"

namespace distsim::api {
namespace {

constexpr study::Objective kObjectives[] = {study::Objective::time, study::Objective::cost, study::Objective::energy,
                                            study::Objective::memory};

Result<study::Objective> objective_of(const std::string& word, const char* flag) {
  std::vector<std::string> words;
  for (const study::Objective o : kObjectives) {
    if (study::name_of(o) == word) return o;
    words.emplace_back(study::name_of(o));
  }
  return Error{std::string(flag) + ": found " + in_quotes(word) + ", expected an objective", "",
               spelling_hint(word, words)};
}

Result<study::Goal> goal_of(const PlanRequest& asked) {
  study::Goal goal;
  if (asked.pareto.empty()) {
    if (!asked.objective.empty()) {
      TRY_ASSIGN(goal.objective, objective_of(asked.objective, "--objective"));
    }
    return goal;
  }
  const std::size_t comma = asked.pareto.find(',');
  if (comma == std::string::npos)
    return Error{"--pareto: found " + in_quotes(asked.pareto) + ", expected two objectives such as time,memory", "",
                 ""};
  TRY_ASSIGN(goal.objective, objective_of(asked.pareto.substr(0, comma), "--pareto"));
  TRY_ASSIGN(goal.second, objective_of(asked.pareto.substr(comma + 1), "--pareto"));
  if (goal.objective == *goal.second)
    return Error{"--pareto: found " + in_quotes(asked.pareto) + ", expected two different objectives", "", ""};
  return goal;
}

/// The number of nodes follows from the number of GPUs.
Result<void> check_gpus(const study::PlanRequest& request) {
  for (const std::string& set : request.sets) {
    if (!request.gpus.empty() && config::gives(set, "cluster.nodes"))
      return Error{"--gpus: found together with --set " + printable(set, 80) + ", expected one of the two", "", ""};
  }
  return {};
}

struct Bounds {
  const char* flag;
  double value, least, most;
};

/// NaN is in no range.
Result<void> check_bounds(const PlanRequest& asked) {
  const Bounds all[] = {{"--top", static_cast<double>(asked.top), 1, 100'000},
                        {"--draws", static_cast<double>(asked.draws), 0, 100'000},
                        {"--jobs", static_cast<double>(asked.jobs), 1, 256},
                        {"--price-per-gpu-hour", asked.price_per_gpu_hour, 1e-9, 1e9},
                        {"--tokens", asked.tokens, 1, 1e20},
                        {"--samples", asked.samples, 1, 1e20},
                        {"--least-columns", static_cast<double>(asked.least_columns), 1, 1 << 20}};
  for (const Bounds& b : all) {
    if (b.value == 0 && std::string_view(b.flag) != "--top" && std::string_view(b.flag) != "--jobs")
      continue;  // not given
    if (b.value >= b.least && b.value <= b.most) continue;
    return Error{fmt::format("{}: found {:g}, expected {:g} to {:g}", b.flag, b.value, b.least, b.most), "", ""};
  }
  return {};
}

}  // namespace

Result<study::PlanRequest> plan_request(const PlanRequest& asked, const std::string& path) {
  TRY(check_bounds(asked));
  study::PlanRequest request;
  request.config = path;
  request.sets = asked.experiment.sets;
  TRY_ASSIGN(request.varied, study_axes(asked.vary, "--vary", request.sets, study::kMostVaried));
  if (!asked.gpus.empty()) {
    TRY_ASSIGN(request.gpus, study::parse_gpus(asked.gpus));
  }
  TRY(check_gpus(request));
  if (!asked.pareto.empty() && !asked.objective.empty())
    return Error{"--pareto: found together with --objective, expected one of them", "", ""};
  TRY_ASSIGN(request.goal, goal_of(asked));
  if (asked.tokens > 0 && asked.samples > 0)
    return Error{"--tokens: found together with --samples, expected one of them", "", ""};
  request.purchase = {asked.price_per_gpu_hour, asked.tokens, asked.samples};
  request.top = asked.top;
  request.exhaustive = asked.exhaustive;
  request.most_played = asked.most_played;
  request.draws = asked.draws;
  request.jobs = asked.jobs;
  request.tables.constraints_file = asked.constraints;
  if (!asked.constraints.empty()) request.tables.wanted_by = "--constraints";
  if (asked.least_columns > 0) request.tables.least_columns = asked.least_columns;
  return request;
}

}  // namespace distsim::api
