#include "sim/api/public/serving.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/report/html/page.hpp"
#include "sim/serving/policies/library/distsim_policy.hpp"
#include "sim/serving/policies/library/policy_library.hpp"
#include "sim/serving/report/comparison.hpp"

namespace distsim::api {
namespace {

constexpr unsigned kMostThreads = 256;

Result<serving::Experiment> serving_experiment(const ServingRequest& asked) {
  std::vector<std::string> sets = asked.experiment.sets;
  if (asked.policy) sets.emplace_back("policies=[fifo]");  // to be replaced
  const Experiment& e = asked.experiment;
  return e.text ? serving::parse_experiment(*e.text, e.file, sets) : serving::load_experiment(e.file, sets);
}

}  // namespace

class Serving::Parts {
 public:
  explicit Parts(const ServingRequest& asked)
      : policy_(
            asked.policy_name, asked.policy ? asked.policy : [] { return nullptr; }, asked.takes_branches) {}

  Result<void> fill(const ServingRequest& asked) {
    if (asked.jobs < 1 || asked.jobs > kMostThreads)
      return Error{"jobs: found " + std::to_string(asked.jobs) + ", expected 1 .. 256", "", ""};
    TRY_ASSIGN(experiment_, serving_experiment(asked));
    if (asked.policy) experiment_.policies = {&policy_.entry()};
    comparison_ = serving::compare_policies(experiment_, asked.jobs, [] {});
    end_if_stopped();
    return serving::failed_points(comparison_);
  }
  const serving::Comparison& comparison() const { return comparison_; }

 private:
  serving::CallersPolicy policy_;
  serving::Experiment experiment_;
  serving::Comparison comparison_;
};

Serving::Serving(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Serving::Serving(const Serving&) = default;
Serving& Serving::operator=(const Serving&) = default;
Serving::~Serving() = default;

std::string Serving::json() const { return serving::comparison_json(parts_->comparison()); }
std::string Serving::csv() const { return serving::comparison_csv(parts_->comparison()); }
std::string Serving::html() const {
  const serving::Comparison& c = parts_->comparison();
  return report::page_html({c.experiment->title, serving::comparison_page_json(c), serving::comparison_text(c)});
}
std::string Serving::text() const { return console_text(serving::comparison_text(parts_->comparison())); }

Serving serving(const ServingRequest& request) {
  const Call call(request.stop);
  const auto parts = std::make_shared<Serving::Parts>(request);
  value_of(parts->fill(request));
  return Serving(parts);
}

}  // namespace distsim::api
