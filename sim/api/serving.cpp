#include "sim/api/public/serving.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/report/html/page.hpp"
#include "sim/serving/policies/library/distsim_policy.hpp"
#include "sim/serving/policies/library/policy_library.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/price_store.hpp"

namespace distsim::api {
namespace {

constexpr unsigned kMostThreads = 256;

}  // namespace

class Serving::Parts {
 public:
  explicit Parts(const ServingRequest& asked)
      : policy_(
            asked.policy_name, asked.policy ? asked.policy : [] { return nullptr; }, asked.takes_branches) {}

  Result<void> fill(const ServingRequest& asked) {
    if (asked.jobs < 1 || asked.jobs > kMostThreads)
      return Error{"jobs: found " + std::to_string(asked.jobs) + ", expected 1 .. 256", "", ""};
    const Experiment& e = asked.experiment;
    TRY(check_given(e));
    TRY_ASSIGN(parsed_, e.text ? parse_yaml(*e.text, e.file) : parse_yaml_file(e.file));
    sets_ = e.sets;
    has_policy_ = static_cast<bool>(asked.policy);
    TRY_ASSIGN(experiment_, with_sets(sets_));
    comparison_ = serving::compare_policies(experiment_, asked.jobs, [] {});
    end_if_stopped();
    return serving::failed_points(comparison_);
  }
  const serving::Comparison& comparison() const { return comparison_; }

  const std::vector<std::string>& without_effect(const Stop& stop) const {
    return idle_.lines(stop, [this] {
      return as_arguments(
          serving::without_effect([this](const std::vector<std::string>& sets) { return with_sets(sets); }, sets_));
    });
  }

 private:
  /// The caller's policy in place of the experiment's, which need not be there.
  Result<serving::Experiment> with_sets(std::vector<std::string> sets) const {
    if (!has_policy_) return serving::compile_experiment(parsed_, sets, nullptr, &prices_);
    sets.emplace_back("policies=[fifo]");
    const auto change = [this](serving::ServingSpec& spec) { spec.policies = {&policy_.entry()}; };
    return serving::compile_experiment(parsed_, sets, change, &prices_);
  }

  serving::CallersPolicy policy_;
  bool has_policy_ = false;
  ConfigNode parsed_;
  std::vector<std::string> sets_;
  mutable serving::PriceStore prices_;
  serving::Experiment experiment_;
  serving::Comparison comparison_;
  LinesOnce idle_;
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
const std::vector<std::string>& Serving::without_effect(const Stop& stop) const { return parts_->without_effect(stop); }

Serving serving(const ServingRequest& request) {
  const Call call(request.stop);
  const auto parts = std::make_shared<Serving::Parts>(request);
  value_of(parts->fill(request));
  return Serving(parts);
}

}  // namespace distsim::api
