#include "collectives/analytic_model.hpp"

#include <cmath>

namespace distsim::collectives {

double launch_floor_us(graph::CollectiveKind kind, const Channels& c, LaunchMode mode) {
  if (!mode.single_process || mode.cuda_graph) return 0;
  const bool pairwise = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
  return c.per_node * (c.k->host_per_gpu + (pairwise ? c.k->host_per_pair * c.ranks : 0));
}

namespace {

/// Bus bandwidth at which the links that give the channels their number are full, whatever else limits the collective:
/// so that twice as many links have twice as many channels, and not more channels for the same bytes.
double full_busbw_gbps(graph::CollectiveKind kind, const Channels& c) {
  if (c.nodes == 1) return c.intra_gbps;
  const bool exchange = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
  return exchange ? c.inter_gbps / c.per_node * (c.ranks - 1.0) / (c.ranks - c.per_node) : c.inter_gbps;
}

}  // namespace

AnalyticModel::AnalyticModel(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                             const ModelConstants& constants) {
  const Channels channels = channels_of(facts, constants);
  candidates_ = selected(candidates_for(kind, channels), selection_for(kind, mode.selection));
  launch_us_ = launch_floor_us(kind, channels, mode);
  channels_ = channels.count;
  channel_rate_ = full_busbw_gbps(kind, channels) * 1e9 / channels.count;
}

AnalyticModel AnalyticModel::with(const Calibration& calibration) const {
  AnalyticModel out = *this;
  out.candidates_ = calibrated(std::move(out.candidates_), calibration);
  return out;
}

double AnalyticModel::with_launch(double gpu_us) const {
  if (launch_us_ == 0) return gpu_us;
  const double g = gpu_us * gpu_us, l = launch_us_ * launch_us_;
  return std::sqrt(std::sqrt(g * g + l * l));
}

}  // namespace distsim::collectives
