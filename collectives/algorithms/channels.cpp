#include "collectives/algorithms/channels.hpp"

#include <algorithm>

namespace distsim::collectives {

namespace {

constexpr double kGiga = 1e-9;

int generation_of(std::int64_t compute_capability) {
  if (compute_capability < 80) return 0;
  if (compute_capability < 90) return 1;
  return compute_capability < 100 ? 2 : 3;
}

bool is_nvlink(topology::IntraNode kind) {
  return kind == topology::IntraNode::nvswitch || kind == topology::IntraNode::hybrid_cube_mesh ||
         kind == topology::IntraNode::full_mesh;
}

double network_share(const topology::GroupFacts& f, std::size_t g, const ModelConstants& k) {
  return (f.transport == "efa" ? k.efa_share[g] : 1.0) * (f.gpu_direct ? 1.0 : k.no_gpu_direct_share);
}

/// The wire's latency is in the facts; libraries between NCCL and the wire add theirs. Their own floor already holds a
/// wire of usual length.
double hop_latency_us(const topology::GroupFacts& f, std::size_t g, const ModelConstants& k) {
  const double software = f.transport == "efa" ? k.efa_hop[g] : f.transport == "tcp" ? k.tcp_hop : 0;
  return software > 0 ? std::max(f.inter_latency.us(), k.reference_net + software) : f.inter_latency.us();
}

/// Two channels a link inside a node (NCCL doubles what its search finds), at least two a NIC across nodes, as NCCL's
/// search tends to end.
double channel_count(const Channels& c) {
  const double links = c.nvlink ? c.intra_nominal_gbps / c.k->link_gbps[static_cast<std::size_t>(c.generation)] : 1;
  const double inside = std::clamp(2 * links, 2.0, 32.0);
  if (c.nodes == 1) return inside;
  return std::clamp(2 * c.nics, 2.0, 32.0);
}

/// NCCL sends over the network inside a node where both GPUs reach it faster than each other (ncclTopoCheckNet).
bool prefers_nics(const topology::GroupFacts& f, const Channels& c) {
  return !c.nvlink && f.gpu_direct && c.per_node > 1 && f.nics_per_node >= c.per_node &&
         c.inter_gbps / c.per_node > c.intra_gbps;
}

}  // namespace

Channels channels_of(const topology::GroupFacts& f, const ModelConstants& k) {
  Channels c;
  c.k = &k;
  c.ranks = f.ranks;
  c.nodes = std::max(1u, f.nodes);
  c.per_node = std::max(1u, f.max_per_node);
  c.generation = generation_of(f.compute_capability);
  c.nvlink = is_nvlink(f.intra);
  c.full_mesh = f.intra == topology::IntraNode::nvswitch;
  c.multicast = f.multicast && c.generation >= 2;
  c.sharp = f.sharp;
  c.peer_to_peer = f.peer_to_peer;
  c.gpu_direct = f.gpu_direct;
  const auto g = static_cast<std::size_t>(c.generation);
  const double usable = c.nvlink ? k.nvlink_usable[g] : c.peer_to_peer ? k.pcie_ring_share : 1.0;
  c.intra_nominal_gbps = std::max(0.1, f.intra_bandwidth.value() * kGiga);
  c.intra_gbps = std::max(0.1, f.intra_ring_bandwidth.value() * kGiga * usable);
  c.inter_gbps = std::max(0.01, f.node_bandwidth.value() * kGiga * network_share(f, g, k));
  c.nics = std::max(1.0, f.nics_per_node);
  c.extra_net_us = c.nodes > 1 ? hop_latency_us(f, g, k) - k.reference_net : 0;
  c.halves_tree_traffic = c.generation >= (f.transport == "efa" ? 2 : 1);
  c.extra_intra_us =
      c.per_node > 1 ? std::max(0.0, f.intra_latency.us() - (c.nvlink ? k.reference_nvlink : k.reference_pcie)) : 0;
  c.count = channel_count(c);
  c.through_nics = prefers_nics(f, c);
  if (c.through_nics) {
    c.intra_gbps = c.inter_gbps / c.per_node;
    c.extra_intra_us = 0;
  }
  return c;
}

}  // namespace distsim::collectives
