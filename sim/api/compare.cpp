#include "sim/study/compare.hpp"

#include <list>

#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/public/studies.hpp"

namespace distsim::api {

class Comparison::Parts {
 public:
  Result<void> fill(const std::vector<CompareSide>& asked) {
    if (asked.size() < 2)
      return Error{"found " + std::to_string(asked.size()) + " to compare, expected at least two experiments", "", ""};
    std::list<ExperimentPath> paths;
    std::vector<study::Side> sides;
    for (const CompareSide& side : asked) {
      paths.emplace_back(side.experiment);
      sides.push_back({side.name, paths.back().path(), side.experiment.sets});
    }
    Result<study::Comparison> found = study::compare(sides);
    if (!found) {
      Error error = found.error();
      for (const ExperimentPath& path : paths) error = path.named(std::move(error));
      return error;
    }
    comparison_ = std::move(found).value();
    for (std::size_t i = 0; i < comparison_.sides.size(); ++i) {
      const study::Ratio& ratio = comparison_.ratios[i];
      sides_.push_back({comparison_.sides[i].name, comparison_.sides[i].prediction.report.iteration.ms(), ratio.value,
                        ratio.low, ratio.high});
    }
    return {};
  }
  const study::Comparison& comparison() const { return comparison_; }
  const std::vector<ComparedSide>& sides() const { return sides_; }

 private:
  study::Comparison comparison_;
  std::vector<ComparedSide> sides_;
};

Comparison::Comparison(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Comparison::Comparison(const Comparison&) = default;
Comparison& Comparison::operator=(const Comparison&) = default;
Comparison::~Comparison() = default;

const std::vector<ComparedSide>& Comparison::sides() const { return parts_->sides(); }
std::string Comparison::csv() const { return study::comparison_csv(parts_->comparison()); }
std::string Comparison::html() const { return study::comparison_html(parts_->comparison()); }
std::string Comparison::text() const { return console_text(study::comparison_text(parts_->comparison())); }

Comparison compare(const std::vector<CompareSide>& sides, const Stop& stop) {
  const Call call(stop);
  const auto parts = std::make_shared<Comparison::Parts>();
  value_of(parts->fill(sides));
  return Comparison(parts);
}

}  // namespace distsim::api
