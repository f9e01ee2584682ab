// AnalyticModel: the time of one kind of collective on one kind of group from hardware properties, optionally with a
// system's calibrated factors.
#pragma once

#include <vector>

#include "collectives/calibration.hpp"
#include "collectives/selection.hpp"

namespace distsim::collectives {

/// How collectives are launched and what NCCL may choose from; part of a curve's identity.
struct LaunchMode {
  bool single_process = false, cuda_graph = false;
  Selection selection{};
  bool same_launch(const LaunchMode& o) const {
    return single_process == o.single_process && cuda_graph == o.cuda_graph;
  }
  bool operator==(const LaunchMode&) const = default;
};

/// Floor from the host, which NCCL's model does not know: one process launches on all GPUs of a node in turn. Replaying
/// a CUDA graph saves it.
double launch_floor_us(graph::CollectiveKind kind, const Channels& channels, LaunchMode mode);

/// The fastest candidate, but no faster than the host can launch (fourth-power mean, as the two overlap). Grows with
/// bytes.
class AnalyticModel {
 public:
  AnalyticModel(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                const ModelConstants& constants = shipped_constants());
  double time_us(double bytes) const { return with_launch(choice(bytes).us); }
  Choice choice(double bytes) const { return fastest(candidates_, bytes); }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  double launch_us() const { return launch_us_; }
  double with_launch(double gpu_us) const;
  double channels() const { return channels_; }
  double channel_rate() const { return channel_rate_; }  ///< bus bandwidth that a channel carries at its best, bytes/s
  /// The same time for every size.
  bool prices_as(const AnalyticModel& other) const {
    return candidates_ == other.candidates_ && launch_us_ == other.launch_us_;
  }
  /// The same with a system's factors.
  AnalyticModel with(const Calibration& calibration) const;

 private:
  std::vector<Candidate> candidates_;
  double launch_us_, channels_, channel_rate_;
};

}  // namespace distsim::collectives
