// NVLS: NVSwitches reduce what they read and multicast what they write, so a GPU moves S(1 + 1/n) bytes per direction
// for an all_reduce of S instead of 2S(n-1)/n. NVLSTree joins nodes by a tree; its per-channel limits are NCCL's.
#include <algorithm>
#include <bit>

#include "collectives/algorithms/algorithms.hpp"

namespace distsim::collectives {

namespace {

/// Algorithm bandwidth inside a node for an all_reduce.
double nvls_all_reduce_gbps(const Channels& c) {
  const ModelConstants& k = *c.k;
  const double n = c.per_node;
  return k.nvls_share[static_cast<std::size_t>(c.generation)] * c.intra_nominal_gbps / (1 + 1 / n);
}

}  // namespace

void add_nvls(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  if (!c.multicast || c.nodes != 1 || c.ranks < 3) return;
  Candidate x{Algorithm::nvls, Protocol::simple, k.nccl.nvls_intra, nvls_all_reduce_gbps(c)};
  if (kind == graph::CollectiveKind::all_gather || kind == graph::CollectiveKind::reduce_scatter) {
    x.gbps = c.intra_gbps * k.nvls_half_share;  // the receiver's links carry the whole result
  } else if (kind != graph::CollectiveKind::all_reduce) {
    return;
  }
  x.steps = 2;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = "NVSwitch";
  out.push_back(x);
}

void add_nvls_tree(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  if (!c.multicast || c.nodes < 2 || c.per_node < 3 || kind != graph::CollectiveKind::all_reduce) return;
  const auto g = static_cast<std::size_t>(c.generation), scale = static_cast<std::size_t>(std::min(c.nodes, 3u) - 1);
  const std::uint32_t levels = static_cast<std::uint32_t>(std::bit_width(c.nodes)) - 1;
  const double n = c.ranks;
  const double to_algorithm = n / (2 * (n - 1));
  const double heads = c.per_node;
  const double across = c.inter_gbps * (c.nodes == 2 ? 2.0 : 1.0);
  const double bus = std::min(across, heads * k.nccl.nvls_tree_per_channel[g][scale]);
  Candidate x{Algorithm::nvls_tree, Protocol::simple,
              k.nccl.nvls_intra + 2 * levels * std::max(0.5, k.nccl.nvls_tree_net + c.extra_net_us),
              std::min(bus * to_algorithm, nvls_all_reduce_gbps(c))};
  x.steps = 2 + 2 * levels;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = across <= heads * k.nccl.nvls_tree_per_channel[g][scale] ? "network" : "NVLS channels";
  out.push_back(x);
}

}  // namespace distsim::collectives
