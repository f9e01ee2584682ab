#include "collectives/analytic_model.hpp"

#include <cmath>

namespace distsim::collectives {

double launch_floor_us(graph::CollectiveKind kind, const Channels& c, LaunchMode mode) {
  if (!mode.single_process || mode.cuda_graph) return 0;
  const bool pairwise = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
  return c.per_node * (c.k->host_per_gpu + (pairwise ? c.k->host_per_pair * c.ranks : 0));
}

namespace {

/// What a channel carries between nodes, GB/s: NCCL lays two on each NIC, of 100 Gb/s beside Volta, 200 beside Ampere,
/// 400 since Hopper. Of the generation and not of the NICs at hand, so that more of them make a collective faster and do
/// not hold more SMs for the same bytes.
constexpr PerGeneration kChannelGbps{6, 12, 24, 24, 16};

double channel_gbps(graph::CollectiveKind kind, const Channels& c) {
  if (c.nodes == 1) return c.intra_gbps / c.count;
  const double channel = kChannelGbps[static_cast<std::size_t>(c.generation)];
  const bool exchange = kind == graph::CollectiveKind::all_to_all || kind == graph::CollectiveKind::all_to_all_v;
  // A ring passes each byte over one NIC of a node; in an exchange each GPU fills its own.
  return exchange ? channel / c.per_node * (c.ranks - 1.0) / (c.ranks - c.per_node) : channel;
}

}  // namespace

AnalyticModel::AnalyticModel(graph::CollectiveKind kind, const topology::GroupFacts& facts, LaunchMode mode,
                             const ModelConstants& constants) {
  const Channels channels = channels_of(facts, constants);
  candidates_ = selected(candidates_for(kind, channels), selection_for(kind, mode.selection));
  launch_us_ = launch_floor_us(kind, channels, mode);
  channels_ = channels.count;
  channel_rate_ = channel_gbps(kind, channels) * 1e9;
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
