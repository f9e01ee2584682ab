// Keys that a plan varied and that change none of its rows.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

#include "base/log.hpp"
#include "base/system/signals.hpp"
#include "sim/study/idle/same_report.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "sim/study/workers.hpp"

namespace distsim::study {
namespace {

/// Keys with several values and the rows at which they are asked. Which thread asks what makes no difference: a key is idle if no
/// row has another figure with another value of it, and one such comparison was possible.
class VariedKeys {
 public:
  VariedKeys(const PlanRequest& request, const Plan& plan) : request_(request), answers_(request.varied.size()) {
    for (const PlanRow& row : plan.rows) {
      if (row.kind == PlanRowKind::baseline_apart || !row.error.empty()) continue;
      rows_.emplace_back().sets = request.sets;
      for (const std::string& set : row.sets) rows_.back().sets = with_set(std::move(rows_.back().sets), set);
    }
  }

  std::vector<std::string> idle() {
    // Most keys have an effect on the first row: all are asked there first.
    const std::size_t axes = answers_.size();
    const auto ask = [&](std::size_t i) {
      const LogSilence silence;
      ask_axis(i % axes, i / axes);
    };
    const std::size_t pieces = axes * std::max<std::size_t>(1, rows_.size());
    for (const std::size_t i : for_each_index(pieces, request_.jobs, ask, [] {})) answers_[i % axes].is_open = false;
    std::vector<std::string> out;
    for (std::size_t a = 0; a < axes; ++a) {
      if (answers_[a].is_open && answers_[a].is_compared) out.push_back(request_.varied[a].key);
    }
    return out;
  }

 private:
  struct Row {
    std::vector<std::string> sets;
    std::once_flag predicting;
    std::optional<Result<report::Report>> figures;  ///< kept, another key may ask for them
  };
  struct Answer {
    std::atomic<bool> is_open = true, is_compared = false;
  };

  void ask_axis(std::size_t a, std::size_t r) {
    const SweepAxis& axis = request_.varied[a];
    if (axis.values.size() > 1 && r < rows_.size()) ask_row(axis, answers_[a], rows_[r]);
    if (axis.values.size() == 1 && r == 0 && is_idle(axis.key + "=" + axis.values.front()))
      answers_[a].is_compared = true;
  }

  /// A value that holds for all of them is as one of --set.
  bool is_idle(const std::string& set) {
    const auto parsed = request_.experiment->parsed(with_set(request_.sets, set));
    return parsed && has_effect(*parsed, set.substr(0, set.find('=')), cache_) == false;
  }

  /// What cannot be predicted says nothing.
  void ask_row(const SweepAxis& axis, Answer& answer, Row& row) {
    if (!answer.is_open) return;
    std::call_once(row.predicting, [&] { row.figures.emplace(figures(row.sets)); });
    for (const std::string& value : axis.values) {
      if (!*row.figures || !answer.is_open || end_asked()) return;
      const std::string set = axis.key + "=" + value;
      if (std::ranges::find(row.sets, set) != row.sets.end()) continue;
      const auto other = figures(with_set(row.sets, set));
      if (!other || !idle::same_figures(**row.figures, *other))
        answer.is_open = false;
      else
        answer.is_compared = true;
    }
  }

  Result<report::Report> figures(const std::vector<std::string>& sets) {
    TRY_ASSIGN(const config::Experiment e, request_.with(sets));
    pipeline::Passes passes;
    TRY_ASSIGN(pipeline::Prediction p,
               pipeline::predict(e, passes, cache_, pipeline::kPlayedMicroSteps, report::Detail::figures));
    return std::move(p.report);
  }

  const PlanRequest& request_;
  std::deque<Row> rows_;
  std::vector<Answer> answers_;
  pipeline::CostModelCache cache_;
};

}  // namespace

std::vector<std::string> axes_without_effect(const PlanRequest& request, const Plan& plan) {
  return request.varied.empty() ? std::vector<std::string>() : VariedKeys(request, plan).idle();
}

}  // namespace distsim::study
