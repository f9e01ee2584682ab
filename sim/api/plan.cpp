#include "sim/study/plan/plan.hpp"
#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/plan_request.hpp"
#include "sim/api/public/studies.hpp"

namespace distsim::api {

class Plan::Parts {
 public:
  Result<void> fill(const PlanRequest& asked) {
    TRY(check_given(asked.experiment));
    const ExperimentPath path(asked.experiment);
    TRY_ASSIGN(request_, plan_request(asked, path.path()));
    auto experiment = config::Variants::of(path.path());
    if (!experiment) return path.named(experiment.error());
    request_.experiment = std::move(*experiment);
    Result<study::Plan> found = study::plan_experiment(request_, [] {});
    if (!found) return path.named(found.error());
    if (stop_asked()) return Error{"interrupted", "", ""};
    plan_ = std::move(found).value();
    for (study::PlanRow& row : plan_.rows) {
      row.error = path.named(std::move(row.error));
      rows_.push_back(
          {row.sets, placement_of(row), row.error.empty() ? row.report.iteration.ms() : 0, row.fits, row.error});
    }
    return {};
  }
  const std::vector<std::string>& without_effect(const Stop& stop) const {
    return idle_.lines(stop, [this] {
      std::vector<study::IdleArgument> found = study::plan_without_effect(request_, plan_);
      std::erase_if(found, [this](const study::IdleArgument& idle) { return !was_given(idle.argument); });
      return as_arguments(joined(study::replaced_arguments(request_.sets), found));
    });
  }
  const study::Plan& plan() const { return plan_; }
  const std::vector<PlanRow>& rows() const { return rows_; }

 private:
  std::string placement_of(const study::PlanRow& row) const {
    if (!plan_.tables) return "";
    const workload::TablePlans& placement = plan_.tables->played[row.number].placement;
    return placement.tables.empty() ? "" : study::placement_csv(placement);
  }

  /// Of those that have defaults; of others it is true.
  bool was_given(const std::string& flag) const {
    const study::PlanRequest usual;
    if (flag == "--exhaustive") return request_.exhaustive;
    if (flag == "--draws") return request_.draws > 0;
    if (flag == "--max-played") return request_.most_played > 0;
    if (flag == "--top") return request_.top != usual.top;
    if (flag == "--least-columns") return request_.tables.least_columns != usual.tables.least_columns;
    return true;
  }

  study::PlanRequest request_;
  study::Plan plan_;
  std::vector<PlanRow> rows_;
  LinesOnce idle_;
};

Plan::Plan(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Plan::Plan(const Plan&) = default;
Plan& Plan::operator=(const Plan&) = default;
Plan::~Plan() = default;

const std::vector<PlanRow>& Plan::rows() const { return parts_->rows(); }
std::string Plan::json() const { return study::plan_json(parts_->plan()); }
std::string Plan::csv() const { return study::plan_csv(parts_->plan()); }
std::string Plan::html() const { return study::plan_html(parts_->plan()); }
std::string Plan::text() const {
  const study::Plan& plan = parts_->plan();
  return console_text(plan.tables ? study::describe(*plan.tables) : study::plan_text(plan));
}
const std::vector<std::string>& Plan::without_effect(const Stop& stop) const { return parts_->without_effect(stop); }

Plan plan(const PlanRequest& request) {
  const Call call(request.stop);
  const auto parts = std::make_shared<Plan::Parts>();
  value_of(parts->fill(request));
  return Plan(parts);
}

}  // namespace distsim::api
