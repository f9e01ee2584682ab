// Pricer: everything about one kind of collective on one kind of group, worked out once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/blend.hpp"
#include "collectives/curve_library.hpp"
#include "collectives/selection.hpp"

namespace distsim::collectives {

/// How collectives are launched and what NCCL may choose from; part of a curve's identity.
struct LaunchMode {
  bool single_process = false, cuda_graph = false;
  Selection selection{};
  bool same_launch(const LaunchMode& o) const { return single_process == o.single_process && cuda_graph == o.cuda_graph; }
  bool operator==(const LaunchMode&) const = default;
};

/// Floor from the host, which NCCL's model does not know: one process launches on all GPUs of a node in turn. Replaying a CUDA graph saves it.
double launch_floor_us(CollectiveKind kind, const Channels& channels, LaunchMode mode);

/// The analytic model of one kind on one group: the fastest candidate, but no faster than the host can launch
/// (fourth-power mean, as the two overlap). Grows with bytes.
class AnalyticModel {
 public:
  AnalyticModel(CollectiveKind kind, const GroupFacts& facts, LaunchMode mode);
  double time_us(double bytes) const;
  Choice choice(double bytes) const { return fastest(candidates_, bytes); }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  double launch_us() const { return launch_us_; }
  double with_launch(double gpu_us) const;

 private:
  std::vector<Candidate> candidates_;
  double launch_us_;
};

class Pricer {
 public:
  Pricer(CollectiveKind kind, const GroupFacts& facts, LaunchMode mode, const std::vector<LibraryCurve>& library);
  Result<Cost> price(double bytes) const;
  const AnalyticModel& model() const { return model_; }
  const std::vector<std::string>& notes() const { return notes_; }  ///< a line for each curve that speaks, for explain()

 private:
  bool one_node_;
  AnalyticModel model_;
  std::optional<Blend> blend_;
  std::vector<std::string> notes_;
};

}  // namespace distsim::collectives
