#include "sim/study/compare.hpp"

#include <algorithm>

#include "base/text/printable.hpp"
#include "sim/api/door.hpp"
#include "sim/api/public/studies.hpp"

namespace distsim::api {
namespace {

/// `argument`: "--set KEY=VALUE".
bool has_setting(const study::Side& side, const std::string& argument) {
  return std::ranges::any_of(side.sets, [&](const std::string& set) { return "--set " + set == argument; });
}

}  // namespace

class Comparison::Parts {
 public:
  Result<void> fill(const std::vector<CompareSide>& asked) {
    if (asked.size() < 2)
      return Error{"found " + std::to_string(asked.size()) + " to compare, expected at least two experiments", "", ""};
    for (const CompareSide& side : asked) {
      const Experiment& e = side.experiment;
      if (const Result<void> given = check_given(e); !given) return study::of_side(side.name, given.error());
      auto experiment = e.text ? config::Variants::of_text(*e.text, e.file) : config::Variants::of(e.file);
      if (!experiment) return study::of_side(side.name, experiment.error());
      asked_.push_back({side.name, e.file, e.sets, std::move(*experiment)});
    }
    TRY_ASSIGN(comparison_, study::compare(asked_));
    for (std::size_t i = 0; i < comparison_.sides.size(); ++i) {
      const study::Ratio& ratio = comparison_.ratios[i];
      sides_.push_back({comparison_.sides[i].name, comparison_.sides[i].prediction.report.iteration.ms(), ratio.value,
                        ratio.low, ratio.high});
    }
    return {};
  }
  const study::Comparison& comparison() const { return comparison_; }
  const std::vector<ComparedSide>& sides() const { return sides_; }
  const std::vector<std::string>& without_effect(const Stop& stop) const {
    return idle_.lines(stop,
                       [this] { return as_arguments(joined(replaced(), study::compare_without_effect(asked_))); });
  }

 private:
  /// Of the sides that have a setting, all may replace it alike; else the line says which does.
  std::vector<study::IdleArgument> replaced() const {
    std::vector<std::vector<study::IdleArgument>> of_sides;
    for (const study::Side& side : asked_) of_sides.push_back(study::replaced_arguments(side.sets));
    std::vector<study::IdleArgument> out;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      for (study::IdleArgument idle : of_sides[i]) {
        bool by_all = true;
        for (std::size_t k = 0; k < asked_.size(); ++k)
          by_all = by_all && (!has_setting(asked_[k], idle.argument) || is_among(of_sides[k], idle));
        if (!by_all) idle.says += " of " + printable(asked_[i].name, 200);
        out = joined(std::move(out), {idle});
      }
    }
    return out;
  }

  std::vector<study::Side> asked_;
  study::Comparison comparison_;
  std::vector<ComparedSide> sides_;
  LinesOnce idle_;
};

Comparison::Comparison(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Comparison::Comparison(const Comparison&) = default;
Comparison& Comparison::operator=(const Comparison&) = default;
Comparison::~Comparison() = default;

const std::vector<ComparedSide>& Comparison::sides() const { return parts_->sides(); }
std::string Comparison::csv() const { return study::comparison_csv(parts_->comparison()); }
std::string Comparison::html() const { return study::comparison_html(parts_->comparison()); }
std::string Comparison::text() const { return console_text(study::comparison_text(parts_->comparison())); }
const std::vector<std::string>& Comparison::without_effect(const Stop& stop) const {
  return parts_->without_effect(stop);
}

Comparison compare(const std::vector<CompareSide>& sides, const Stop& stop) {
  const Call call(stop);
  const auto parts = std::make_shared<Comparison::Parts>();
  value_of(parts->fill(sides));
  return Comparison(parts);
}

}  // namespace distsim::api
