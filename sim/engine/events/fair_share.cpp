#include "sim/engine/events/fair_share.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <tuple>

#include "base/threads/stop.hpp"

namespace distsim::engine {
namespace {

/// What a resource still has to give, and to how many.
struct Supply {
  double left = 0;           ///< capacity less what stopped flows take
  double demand = 0;         ///< sum of the coefficients of rising flows: what a rise of all by 1 takes
  double summed = 0;         ///< demand when it was last summed up rather than subtracted from
  std::uint32_t rising = 0;  ///< flows that still rise
  double level() const { return rising > 0 ? left / demand : INFINITY; }  ///< where it will be full
};

class ProgressiveFilling {
 public:
  explicit ProgressiveFilling(const FairShareProblem& p)
      : p_(p),
        rates_(p.bounds.size(), -1),
        supplies_(p.capacities.size()),
        user_offsets_(p.capacities.size() + 1, 0),
        users_(p.uses.size()),
        coefficients_(p.uses.size()) {
    index_users();
  }

  std::vector<double> run() {
    for (std::uint32_t l = 0; l < supplies_.size(); ++l) push_resource(l);
    for (std::uint32_t f = 0; f < rates_.size(); ++f) stops_.push({p_.bounds[f], kBound, f});
    while (!stops_.empty()) {
      end_if_stopped();
      const auto [level, kind, index] = stops_.top();
      stops_.pop();
      if (kind == kBound) {
        if (rates_[index] < 0) stop(index, level);
      } else if (supplies_[index].rising > 0) {
        fill(index, level);
      }
    }
    return std::move(rates_);
  }

 private:
  static constexpr double kWorn = 1e-3;
  enum Kind : std::uint8_t { kResource, kBound };
  using Stop = std::tuple<double, Kind, std::uint32_t>;  // level at which, why, and what; ties in this order

  void index_users() {
    for (std::uint32_t l = 0; l < supplies_.size(); ++l) supplies_[l].left = p_.capacities[l];
    for (const auto& use : p_.uses) {
      ++user_offsets_[use.resource + 1];
      ++supplies_[use.resource].rising;
      supplies_[use.resource].demand += use.coefficient;
    }
    for (Supply& supply : supplies_) supply.summed = supply.demand;
    for (std::size_t l = 1; l < user_offsets_.size(); ++l) user_offsets_[l] += user_offsets_[l - 1];
    std::vector<std::uint32_t> next(user_offsets_.begin(), user_offsets_.end() - 1);
    for (std::uint32_t f = 0; f < rates_.size(); ++f) {
      for (std::uint32_t i = p_.use_offsets[f]; i < p_.use_offsets[f + 1]; ++i) {
        const std::uint32_t place = next[p_.uses[i].resource]++;
        users_[place] = f;
        coefficients_[place] = p_.uses[i].coefficient;
      }
    }
  }
  void push_resource(std::uint32_t l) {
    if (supplies_[l].rising > 0) stops_.push({supplies_[l].level(), kResource, l});
  }
  /// The level of a resource only rises as its flows stop, so an entry may come up too early: then it goes back with
  /// its level of now.
  void fill(std::uint32_t l, double level) {
    const double now = supplies_[l].level();
    if (now > level) return stops_.push({now, kResource, l});
    for (std::uint32_t i = user_offsets_[l]; i < user_offsets_[l + 1]; ++i) {
      if (rates_[users_[i]] < 0) stop(users_[i], level);
    }
  }
  void stop(std::uint32_t flow, double rate) {
    rates_[flow] = rate;
    for (std::uint32_t i = p_.use_offsets[flow]; i < p_.use_offsets[flow + 1]; ++i) {
      Supply& supply = supplies_[p_.uses[i].resource];
      supply.left = std::max(0.0, supply.left - p_.uses[i].coefficient * rate);
      supply.demand -= p_.uses[i].coefficient;
      --supply.rising;
      if (supply.demand < supply.summed * kWorn) sum_up(p_.uses[i].resource);
    }
  }
  /// After much has been subtracted, what is left is mostly rounding: add it up anew.
  void sum_up(std::uint32_t l) {
    Supply& supply = supplies_[l];
    supply.demand = 0;
    for (std::uint32_t i = user_offsets_[l]; i < user_offsets_[l + 1]; ++i) {
      if (rates_[users_[i]] < 0) supply.demand += coefficients_[i];
    }
    supply.summed = supply.demand;
  }

  const FairShareProblem& p_;
  std::vector<double> rates_;  ///< below 0 while rising
  std::vector<Supply> supplies_;
  std::vector<std::uint32_t> user_offsets_, users_;  ///< CSR: flows by resource
  std::vector<double> coefficients_;                 ///< parallel to users_
  std::priority_queue<Stop, std::vector<Stop>, std::greater<>> stops_;
};

Error found_number(const std::string& what, double number, const std::string& expected) {
  return {what + ": found " + std::to_string(number) + ", expected " + expected, "", ""};
}

}  // namespace

void FairShareProblem::add_flow(double bound, const std::vector<Use>& flow_uses) {
  bounds.push_back(bound);
  uses.insert(uses.end(), flow_uses.begin(), flow_uses.end());
  use_offsets.push_back(static_cast<std::uint32_t>(uses.size()));
}

Result<void> validate(const FairShareProblem& p) {
  for (std::size_t l = 0; l < p.capacities.size(); ++l) {
    if (!(p.capacities[l] > 0) || !std::isfinite(p.capacities[l])) {
      return found_number("capacity of resource " + std::to_string(l), p.capacities[l], "a finite number above 0");
    }
  }
  for (std::size_t f = 0; f < p.bounds.size(); ++f) {
    const std::string name = "flow " + std::to_string(f);
    if (!(p.bounds[f] > 0)) return found_number(name + ".bound", p.bounds[f], "a number above 0");
    if (std::isinf(p.bounds[f]) && p.use_offsets[f] == p.use_offsets[f + 1])
      return found_number(name + ".bound", p.bounds[f], "a finite one without uses");
    std::vector<std::uint32_t> seen;
    for (std::uint32_t i = p.use_offsets[f]; i < p.use_offsets[f + 1]; ++i) {
      const auto& use = p.uses[i];
      if (use.resource >= p.capacities.size())
        return found_number(name + ".resource", use.resource, "one of " + std::to_string(p.capacities.size()));
      if (!(use.coefficient > 0) || !std::isfinite(use.coefficient))
        return found_number(name + ".coefficient", use.coefficient, "a finite number above 0");
      seen.push_back(use.resource);
    }
    std::sort(seen.begin(), seen.end());
    const auto twice = std::adjacent_find(seen.begin(), seen.end());
    if (twice != seen.end()) return found_number(name + ".resource", *twice, "each resource once");
  }
  return {};
}

std::vector<double> max_min_rates(const FairShareProblem& problem) { return ProgressiveFilling(problem).run(); }

}  // namespace distsim::engine
