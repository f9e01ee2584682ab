#include "collectives/channels.hpp"

#include <algorithm>

#include "collectives/nccl_constants.hpp"

namespace distsim::collectives {

namespace {

constexpr double kGiga = 1e-9;

int generation_of(std::int64_t compute_capability) {
  if (compute_capability < 80) return 0;
  if (compute_capability < 90) return 1;
  return compute_capability < 100 ? 2 : 3;
}

bool is_nvlink(IntraNode kind) {
  return kind == IntraNode::nvswitch || kind == IntraNode::hybrid_cube_mesh || kind == IntraNode::full_mesh;
}

double network_share(const GroupFacts& f, std::size_t g) {
  return (f.transport == "efa" ? kEfaShare[g] : 1.0) * (f.gpu_direct ? 1.0 : kNoGpuDirectShare);
}

/// The wire's latency is in the facts; libraries between NCCL and the wire add theirs. Their own floor already holds a wire of usual length.
double hop_latency_us(const GroupFacts& f, std::size_t g) {
  const double software = f.transport == "efa" ? kEfaHopUs[g] : f.transport == "tcp" ? kTcpHopUs : 0;
  return software > 0 ? std::max(f.inter_latency.us(), kReferenceNetUs + software) : f.inter_latency.us();
}

/// Two channels a link inside a node (NCCL doubles what its search finds), at least two a NIC across nodes, as NCCL's search tends to end.
double channel_count(const Channels& c) {
  const double links = c.nvlink ? c.intra_nominal_gbps / kLinkGbps[static_cast<std::size_t>(c.generation)] : 1;
  const double inside = std::clamp(2 * links, 2.0, 32.0);
  if (c.nodes == 1) return inside;
  return std::clamp(2 * c.nics, 2.0, 32.0);
}

}  // namespace

Channels channels_of(const GroupFacts& f) {
  Channels c;
  c.ranks = f.ranks;
  c.nodes = std::max(1u, f.nodes);
  c.per_node = std::max(1u, f.max_per_node);
  c.generation = generation_of(f.compute_capability);
  c.nvlink = is_nvlink(f.intra);
  c.full_mesh = f.intra == IntraNode::nvswitch;
  c.multicast = f.multicast && c.generation >= 2;
  c.sharp = f.sharp;
  c.peer_to_peer = f.peer_to_peer;
  c.gpu_direct = f.gpu_direct;
  const auto g = static_cast<std::size_t>(c.generation);
  const double usable = c.nvlink ? kNvlinkUsable[g] : c.peer_to_peer ? kPcieRingShare : 1.0;
  c.intra_nominal_gbps = std::max(0.1, f.intra_bandwidth.value() * kGiga);
  c.intra_gbps = std::max(0.1, f.intra_ring_bandwidth.value() * kGiga * usable);
  c.inter_gbps = std::max(0.01, f.node_bandwidth.value() * kGiga * network_share(f, g));
  c.nics = std::max(1.0, f.nics_per_node);
  c.extra_net_us = c.nodes > 1 ? hop_latency_us(f, g) - kReferenceNetUs : 0;
  c.halves_tree_traffic = f.transport != "efa" || c.generation >= 2;
  c.extra_intra_us = c.per_node > 1 ? std::max(0.0, f.intra_latency.us() - (c.nvlink ? kReferenceNvlinkUs : kReferencePcieUs)) : 0;
  c.count = channel_count(c);
  return c;
}

}  // namespace distsim::collectives
