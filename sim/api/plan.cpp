#include "sim/study/plan/plan.hpp"
#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/plan_request.hpp"
#include "sim/api/public/studies.hpp"

namespace distsim::api {

class Plan::Parts {
 public:
  Result<void> fill(const PlanRequest& asked) {
    const ExperimentPath path(asked.experiment);
    TRY_ASSIGN(const study::PlanRequest request, plan_request(asked, path.path()));
    Result<study::Plan> found = study::plan_experiment(request, [] {});
    if (!found) return path.named(found.error());
    if (stop_asked()) return Error{"interrupted", "", ""};
    plan_ = std::move(found).value();
    for (const study::PlanRow& row : plan_.rows)
      rows_.push_back({row.sets, row.fits && row.error.empty() ? row.report.iteration.ms() : 0, row.error});
    return {};
  }
  const study::Plan& plan() const { return plan_; }
  const std::vector<PlanRow>& rows() const { return rows_; }

 private:
  study::Plan plan_;
  std::vector<PlanRow> rows_;
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

Plan plan(const PlanRequest& request) {
  const Call call(request.stop);
  const auto parts = std::make_shared<Plan::Parts>();
  value_of(parts->fill(request));
  return Plan(parts);
}

}  // namespace distsim::api
