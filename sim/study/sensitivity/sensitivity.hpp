// Sensitivity: what would make an iteration shorter. Every resource made better and worse, one at a time, and the pairs
// that help only together.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/pipeline/pipeline.hpp"
#include "sim/study/sensitivity/resources.hpp"

namespace distsim::study {

/// An experiment with one resource changed by one factor.
struct ResourcePoint {
  double factor = 1;
  Duration iteration;  ///< of memory: for the samples of the experiment, at the rate that the larger batch reaches
  std::string limited_by;
  std::string error;  ///< why there is no iteration; empty where there is one
};

struct ResourceSensitivity {
  const Resource* resource = nullptr;
  std::vector<ResourcePoint> points;  ///< by factor, smallest first
  /// d ln(iteration) / d ln(resource), from the points at 0.9 and 1.1: -1 where the iteration is as long as the resource
  /// is slow, 0 where it does not matter, nothing where one of them has no iteration.
  std::optional<double> elasticity;
  std::string note;  ///< of memory: the batches that fit

  const ResourcePoint& at(double factor) const;
};

/// Two resources, each twice as good, that shorten the iteration by more together than one by one.
struct ResourcePair {
  const Resource* first = nullptr;
  const Resource* second = nullptr;
  Duration first_only, second_only, both;  ///< iterations
};

struct Sensitivity {
  report::Report base;
  std::vector<ResourceSensitivity> resources;  ///< those that the experiment has, largest gain at twice as good first
  bool some_only = false;                      ///< the request named resources: there may be others
  std::vector<ResourcePair> pairs;             ///< largest gain first
  std::vector<double> factors;                 ///< those that were asked for, smallest first

  /// Relative change of the iteration: -0.31 is 31 % shorter.
  double change(Duration iteration) const;
};

/// What a sensitivity is asked for.
struct SensitivityRequest {
  std::vector<double> factors{kFactors.begin(), kFactors.end()};  ///< 1e-6 to 1e6; infinity is no limit
  std::vector<const Resource*> resources;                         ///< empty: all that the experiment has
};

/// "0.5,2,inf". Errors: what is no such factor, or there twice.
Result<std::vector<double>> parse_factors(const std::string& text);

/// A resource that the experiment has. Errors: no such resource, or one that the experiment does not have.
Result<const Resource*> find_resource(const std::string& name, const config::Experiment& experiment);

/// Every point is a prediction of its own, of the experiment with those keys changed. A point whose answer follows from
/// others (a resource without which nothing gets shorter gains nothing at x2 either) is not predicted again. Errors:
/// what keeps the experiment itself from being predicted.
Result<Sensitivity> sensitivity(const config::Experiment& experiment, const SensitivityRequest& request,
                                const std::function<void()>& on_resource);

/// Columns resource, level, factor, iteration_ms, delta_percent, elasticity, limited_by; factor `inf` is no limit.
std::string sensitivity_csv(const Sensitivity& s);
std::string sensitivity_text(const Sensitivity& s);
std::string sensitivity_json(const Sensitivity& s);
std::string sensitivity_html(const Sensitivity& s);

}  // namespace distsim::study
