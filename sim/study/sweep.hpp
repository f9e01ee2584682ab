// Sweeps: the same experiment with several values of some keys, and what each step of scaling costs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "sim/report/report.hpp"

namespace distsim::study {

/// One swept key and its values.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

/// Parses "KEY=V1,V2,..."; commas inside [], {} and quotes do not split. A single value is an axis of length one.
Result<SweepAxis> parse_axis(const std::string& text);

/// True for axes that change how many GPUs there are.
bool counts_gpus(const SweepAxis& axis);

enum class Scaling { strong, weak };

struct SweepPoint {
  std::vector<std::string> values;  ///< one per axis
  std::string error;                ///< why this point has no prediction; empty when it has one
  std::int64_t global_batch = 0;
  report::Report report;
  double speedup = 0;  ///< samples/s over that of the point with the fewest GPUs and the same values on the other axes
  double efficiency = 0;  ///< speedup over the growth in GPUs; 1 is perfect scaling
};

struct SweepRequest {
  std::string config;
  std::vector<std::string> sets;  ///< fixed overrides
  std::vector<SweepAxis> axes;    ///< the first varies slowest
  /// strong: the global batch of a row is that of the same row on the first number of GPUs, also where the model gives
  /// it per GPU. weak: the samples per GPU are. A swept model.global_batch contradicts weak.
  Scaling scaling = Scaling::strong;
  unsigned jobs = 1;
};

/// Predicts every combination. A point that cannot be predicted keeps its place with the reason; an error in the config
/// itself is an Error.
Result<std::vector<SweepPoint>> sweep(const SweepRequest& request, const std::function<void()>& on_point);

/// Swept keys whose values make no difference at any of the points that could be predicted, where there are two to compare.
std::vector<std::string> axes_without_effect(const SweepRequest& request, const std::vector<SweepPoint>& points);

std::string sweep_csv(const SweepRequest& request, const std::vector<SweepPoint>& points);
std::string sweep_table(const SweepRequest& request, const std::vector<SweepPoint>& points);

}  // namespace distsim::study
