#include "sim/study/ratio_range.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/report/critical_path.hpp"
#include "sim/report/replays.hpp"

namespace distsim::study {
namespace {

using report::Played;
using report::Replays;

/// A step of an iteration for one role: the class of its cost, and its ends over the mean.
struct UncertainStep {
  std::uint32_t error_class = 0;
  double low = 1, high = 1;
};

class EffectFinder {
 public:
  explicit EffectFinder(const Played& played) : played_(played), replays_(played) {
    roles_ = replays_.roles().size();
    for (StepId s(0); s.value() < replays_.steps(); s = StepId(s.value() + 1)) {
      for (const std::uint32_t rank : replays_.roles().first) steps_.push_back(described(s, rank));
    }
  }

  std::map<ErrorClass, ClassEffect> effects() {
    const std::int64_t period = replays_.period();
    std::map<ErrorClass, ClassEffect> out;
    for (const auto& [of, number] : numbers_) {
      const double low = log_ratio(number, &UncertainStep::low, period),
                   high = log_ratio(number, &UncertainStep::high, period);
      out[of] = {std::min(0.0, low), std::max(0.0, high)};
    }
    return out;
  }

 private:
  UncertainStep described(StepId step, std::uint32_t rank) {
    const graph::Cost* cost = report::cost_of(played_, step, rank);
    const ErrorClass of{std::string(report::kind_of_step(played_, step, rank)),
                        cost ? cost->basis : graph::Basis::analytic};
    UncertainStep out{numbers_.try_emplace(of, static_cast<std::uint32_t>(numbers_.size())).first->second};
    if (cost == nullptr) {
      out.low = 1 - report::kHostSpread;
      out.high = 1 + report::kHostSpread;
    } else if (cost->mean > Duration()) {
      out.low = cost->low.seconds() / cost->mean.seconds();
      out.high = cost->high.seconds() / cost->mean.seconds();
    }
    return out;
  }

  /// Of the period with one class at its ends to the period as it is.
  double log_ratio(std::uint32_t number, double UncertainStep::*end, std::int64_t period) {
    const bool played = replays_.play([&](StepId step) { return with(step, number, end); });
    return played && period > 0 && replays_.period() > 0
               ? std::log(static_cast<double>(replays_.period()) / static_cast<double>(period))
               : 0;
  }

  std::optional<engine::Row> with(StepId step, std::uint32_t number, double UncertainStep::*end) const {
    const UncertainStep* of_role = &steps_[std::size_t{replays_.in_first(step).value()} * roles_];
    const auto concerned = [&](const UncertainStep& s) { return s.error_class == number && s.*end != 1; };
    if (std::none_of(of_role, of_role + roles_, concerned)) return std::nullopt;
    const engine::Row& row = replays_.duration(step);
    std::vector<std::int64_t> values(roles_);
    for (std::uint32_t role = 0; role < roles_; ++role) {
      const auto as_played = static_cast<double>(row.at(role));
      values[role] = concerned(of_role[role]) ? std::llround(as_played * (of_role[role].*end)) : row.at(role);
    }
    return engine::Row(std::move(values));
  }

  const Played& played_;
  Replays replays_;
  std::uint32_t roles_ = 1;
  std::map<ErrorClass, std::uint32_t> numbers_;
  std::vector<UncertainStep> steps_;  ///< of an iteration, by step, then role
};

/// Sums up independent errors.
class Squares {
 public:
  explicit Squares(double own) : down_(own * own), up_(own * own) {}
  /// An error that moves the ratio's logarithm by either of two, whichever way these go.
  void add(double one, double other) {
    const double down = std::max({0.0, -one, -other}), up = std::max({0.0, one, other});
    down_ += down * down;
    up_ += up * up;
  }
  RatioWidths widths() const { return {std::sqrt(down_), std::sqrt(up_)}; }

 private:
  double down_, up_;
};

}  // namespace

std::map<ErrorClass, ClassEffect> class_effects(const Played& played) { return EffectFinder(played).effects(); }

RatioWidths ratio_widths(const std::map<ErrorClass, ClassEffect>& a, const std::map<ErrorClass, ClassEffect>& b,
                         double own, const std::function<bool(const ErrorClass&)>& shared) {
  std::map<ErrorClass, std::pair<ClassEffect, ClassEffect>> both;
  for (const auto& [of, effect] : a) both[of].first = effect;
  for (const auto& [of, effect] : b) both[of].second = effect;
  Squares sum(own);
  for (const auto& [of, effects] : both) {
    const auto& [in_a, in_b] = effects;
    if (shared(of)) {
      sum.add(in_b.low - in_a.low, in_b.high - in_a.high);
    } else {
      sum.add(in_b.low, in_b.high);
      sum.add(-in_a.low, -in_a.high);
    }
  }
  return sum.widths();
}

}  // namespace distsim::study
