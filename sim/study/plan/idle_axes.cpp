// Keys that a plan varied and that change none of its rows.
#include <algorithm>
#include <map>
#include <optional>

#include "base/log.hpp"
#include "base/system/signals.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/study/without_effect.hpp"

namespace distsim::study {
namespace {

class VariedKeys {
 public:
  VariedKeys(const PlanRequest& request, const Plan& plan) : request_(request), plan_(plan) {}

  std::vector<std::string> idle() {
    const LogSilence silence;
    std::vector<std::string> out;
    for (const SweepAxis& axis : request_.varied) {
      if (axis.values.size() > 1 ? is_idle(axis) : is_idle(axis.key + "=" + axis.values.front()))
        out.push_back(axis.key);
    }
    return out;
  }

 private:
  /// A value that holds for all of them is as one of --set.
  bool is_idle(const std::string& set) {
    const auto parsed = request_.experiment->parsed(with_set(request_.sets, set));
    return parsed && has_effect(*parsed, set.substr(0, set.find('=')), cache_) == false;
  }

  /// No row has another figure with another value of the key. One that cannot be predicted says nothing.
  bool is_idle(const SweepAxis& axis) {
    bool compared = false;
    for (const PlanRow& row : plan_.rows) {
      if (row.kind != PlanRowKind::candidate || !row.error.empty()) continue;
      std::vector<std::string> sets = request_.sets;
      for (const std::string& set : row.sets) sets = with_set(std::move(sets), set);
      auto& own = own_[&row];  // another key may have asked for it
      if (!own) own.emplace(figures(sets));
      if (!*own) continue;
      for (const std::string& value : axis.values) {
        if (end_asked()) return false;
        const std::string set = axis.key + "=" + value;
        if (std::ranges::find(sets, set) != sets.end()) continue;
        const auto other = figures(with_set(sets, set));
        if (!other || !same_figures(**own, *other)) return false;
        compared = true;
      }
    }
    return compared;
  }

  Result<report::Report> figures(const std::vector<std::string>& sets) {
    TRY_ASSIGN(const config::Experiment e, request_.with(sets));
    pipeline::Passes passes;
    TRY_ASSIGN(pipeline::Prediction p,
               pipeline::predict(e, passes, cache_, pipeline::kPlayedMicroSteps, report::Detail::figures));
    return std::move(p.report);
  }

  const PlanRequest& request_;
  const Plan& plan_;
  pipeline::CostModelCache cache_;
  std::map<const PlanRow*, std::optional<Result<report::Report>>> own_;  ///< figures of rows
};

}  // namespace

std::vector<std::string> axes_without_effect(const PlanRequest& request, const Plan& plan) {
  return VariedKeys(request, plan).idle();
}

}  // namespace distsim::study
