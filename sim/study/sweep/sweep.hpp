// Sweeps: the same experiment with several values of some keys, and what each step of scaling costs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "sim/config/variants.hpp"
#include "sim/study/idle/without_effect.hpp"
#include "sim/study/points/study_run.hpp"
#include "sim/study/sweep/axis.hpp"
#include "sim/study/sweep/figures.hpp"

namespace distsim::study {

enum class Scaling : std::uint8_t { as_given, strong, weak };
std::string_view name_of(Scaling scaling);

struct SweepRequest {
  std::string config;
  std::shared_ptr<config::Variants> experiment = nullptr;  ///< in place of the file `config`
  std::vector<std::string> sets;                           ///< fixed overrides
  std::vector<SweepAxis> axes;                             ///< the first varies slowest
  /// as_given: a row is the experiment with its values, as predicted alone. strong: the global batch of a row is that of the
  /// same row on the first number of GPUs, also where the model gives it per GPU. weak: the samples per GPU are. A swept
  /// model.global_batch contradicts weak, a swept model.per_gpu_batch strong.
  Scaling scaling = Scaling::as_given;
  std::string scaling_asked = "--scaling";  ///< what asked for it, for messages: "x.yaml:3:1: scaling"
  /// The reason why a point has no prediction, as it is shown: rows name each key as if --set had given it. Null: as it is.
  std::function<std::string(const std::string&)> told = nullptr;
};

struct SweepPoint {
  std::vector<std::string> values;  ///< one per axis
  std::string error;                ///< why this point has no prediction; empty when it has one
  SweepFigures figures;
  double speedup = 0;  ///< samples/s over that of the point with the fewest GPUs and the same values on the other axes
  double efficiency = 0;  ///< speedup over the growth in GPUs; 1 is perfect scaling
};

inline constexpr std::size_t kMostPoints = 10'000'000;

/// How many points axes of so many values have. Error: over kMostPoints.
Result<std::size_t> count_points(const std::vector<double>& values);

/// Values of every axis at point number `index`, the first axis slowest.
std::vector<std::string> values_at(const std::vector<SweepAxis>& axes, std::size_t index);

/// The --set that make a point of the request.
std::vector<std::string> sets_at(const SweepRequest& request, std::size_t index);

/// What the rows of a sweep over `experiment`, the text of its file, depend on.
Identity sweep_identity(const SweepRequest& request, const ConfigNode& experiment);

/// The points of a sweep as a list to evaluate. Errors: over kMostPoints; an error in the config itself; scaling
/// with a swept batch that it would replace, or where only variants set the number of GPUs.
/// With `identified` its identity says what the rows depend on, which takes some 0.1 s: for journals and teams.
Result<PointList> sweep_points(const SweepRequest& request, bool identified);

/// All points, those of one machine after each other: its cost models are kept only for a while.
std::vector<std::size_t> sweep_order(const SweepRequest& request);

/// What is said of scaling where no axis counts_gpus. Swept systems may differ in their GPUs, too.
inline constexpr const char* kNoGpusSwept = "neither cluster.nodes nor cluster.gpus_per_node is swept";

/// What a sweep gave, point by point.
class SweepResult {
 public:
  SweepResult(SweepRequest request, const Rows& rows);
  const SweepRequest& request() const { return request_; }
  std::size_t size() const { return rows_.size(); }
  SweepPoint point(std::size_t index) const;
  std::size_t predicted() const { return predicted_; }

  /// Swept keys whose values make no difference at any of the points that could be predicted, where there are two to
  /// compare.
  std::vector<std::string> axes_without_effect() const;

 private:
  void add_bases();
  bool is_idle(std::size_t axis) const;
  const SweepRequest request_;
  const Rows& rows_;
  std::size_t predicted_ = 0;
  struct Base {
    double gpus = 0, samples_per_s = 0;
  };
  std::vector<bool> counting_;  ///< the number of GPUs, by axis
  std::vector<Base> bases_;  ///< by number of the point with the first value on the axes that change the number of GPUs
};

/// What changes none of the points: swept keys, those of --set that all points have, --scaling (also where it was not given)
/// where kNoGpusSwept, and where it was given and each point has the batch of the experiment anyway. `flag` gave the
/// swept keys: --set, --vary.
std::vector<IdleArgument> sweep_without_effect(const SweepResult& result, const std::string& flag, unsigned jobs = 0);

}  // namespace distsim::study
