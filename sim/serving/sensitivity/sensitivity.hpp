// Sensitivity of serving: what would shorten the tail or let more requests be answered in time. Every lever of an experiment
// made better and worse, one at a time, and every other policy, under the first policy at the first rate of the experiment.
//
// All points meet the same requests (common random numbers): arrivals, models and service times come from streams of their
// own, of the same seeds. Each point is run with several seeds, and the change is the mean over them of each run's own
// relative change, with an interval of Student's t of these changes; the warm-up of a run is that of the unchanged one.
// Deadlines stay what they are in the unchanged experiment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "sim/serving/sensitivity/levers.hpp"

namespace distsim::serving {

struct SensitivityRequest {
  std::vector<double> factors;         ///< above 0; infinity is no limit
  std::vector<std::string> resources;  ///< names of levers, or "policy"; empty: all
  unsigned jobs = 1;
  PriceStore* prices = nullptr;  ///< not null: kept from one reading of the experiment to the next
};

/// A figure with its change against the unchanged experiment, relative: -0.31 is 31 % less.
struct Change {
  double value = 0, change = 0, half_width = 0;      ///< of `change`, at 95 %
  double difference = 0, difference_half_width = 0;  ///< of the figures themselves, seed by seed
  bool known = false;  ///< the unchanged figure is above 0 with every seed; of the P99 the changed one, too
};

/// Whether every other policy is tried, too.
bool tries_policies(const SensitivityRequest& request);

struct SensitivityPoint {
  double factor = 1;
  std::string policy;  ///< not empty: the point is another policy, not a factor
  Change p99_ms, goodput_per_s;
  bool unstable = false;
  std::string error;  ///< why there are no figures
};

struct LeverSensitivity {
  std::string name, words, level;
  std::vector<SensitivityPoint> points;  ///< smallest factor first
  std::optional<double> elasticity;      ///< d ln(P99) / d ln(factor), from 0.9 and 1.1, where both can be tried

  const SensitivityPoint* at(double factor) const;
};

struct Sensitivity {
  std::string title, policy;
  double p99_ms = 0, goodput_per_s = 0, rate_per_s = 0;
  bool unstable = false;
  std::vector<double> factors;
  std::vector<LeverSensitivity> levers;    ///< the largest gain of the P99 at twice as good first
  std::vector<SensitivityPoint> policies;  ///< least P99 first
};

inline constexpr int kSensitivitySeeds = 5;

/// Errors: an experiment that cannot be read or run; an unknown resource.
Result<Sensitivity> sensitivity(const std::string& path, const std::vector<std::string>& sets,
                                const SensitivityRequest& request, const std::function<void()>& on_lever);

/// A line for each key and each --set that changes nothing of it, and for lists of which only the first counts.
std::vector<std::string> sensitivity_without_effect(const std::string& path, const std::vector<std::string>& sets,
                                                    const SensitivityRequest& request);

/// Columns resource, level, factor, p99_ms, delta_percent, elasticity, delta_half_width, goodput_per_s,
/// goodput_delta_percent, goodput_delta_half_width, unstable, error. Of resource `policy`, factor is the policy's name.
std::string sensitivity_csv(const Sensitivity& s);
std::string sensitivity_text(const Sensitivity& s);
std::string sensitivity_json(const Sensitivity& s);
std::string sensitivity_html(const Sensitivity& s);

}  // namespace distsim::serving
