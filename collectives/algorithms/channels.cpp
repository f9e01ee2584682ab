#include "collectives/algorithms/channels.hpp"

#include <algorithm>

namespace distsim::collectives {

namespace {

constexpr double kGiga = 1e-9;
/// Keeps quotients finite. No link that can be asked for is as slow: 100 MB/s, a hundredth of it usable, and a millionth of
/// that in a sensitivity.
constexpr double kLeastGbps = 1e-12;

constexpr int kAmd = 4;

int generation_of(std::int64_t compute_capability) {
  if (compute_capability > 90 && compute_capability < 100) return kAmd;  // gfx942, gfx950
  if (compute_capability < 80) return 0;
  if (compute_capability < 90) return 1;
  return compute_capability < 100 ? 2 : 3;
}

double network_share(const topology::GroupFacts& f, std::size_t g, const ModelConstants& k) {
  return (f.transport == topology::Transport::efa ? k.efa_share[g] : 1.0) *
         (f.gpu_direct ? 1.0 : k.no_gpu_direct_share);
}

/// What the library between NCCL and the wire adds to a hop.
double library_hop_us(topology::Transport transport, std::size_t g, const ModelConstants& k) {
  switch (transport) {
    case topology::Transport::efa:
      return k.efa_hop[g];
    case topology::Transport::tcp:
      return k.tcp_hop;
    case topology::Transport::infiniband:
    case topology::Transport::roce:
    case topology::Transport::slingshot:
      return 0;
  }
  return 0;
}

/// The wire's latency is in the facts; libraries between NCCL and the wire add theirs. Their own floor already holds a
/// wire of usual length.
double hop_latency_us(const topology::GroupFacts& f, std::size_t g, const ModelConstants& k) {
  const double software = library_hop_us(f.transport, g, k);
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
bool prefers_nics(const Channels& c) { return c.own_nics && c.inter_gbps / c.per_node > c.intra_gbps; }

}  // namespace

Channels channels_of(const topology::GroupFacts& f, const ModelConstants& k) {
  Channels c;
  c.k = &k;
  c.ranks = f.ranks;
  c.nodes = std::max(1u, f.nodes);
  c.per_node = std::max(1u, f.max_per_node);
  c.generation = generation_of(f.compute_capability);
  c.nvlink = f.nvlink();
  c.full_mesh = f.switched();
  c.multicast = f.multicast && c.generation >= 2 && c.generation < kAmd;
  c.sharp = f.sharp;
  c.gpu_direct = f.gpu_direct;
  const auto g = static_cast<std::size_t>(c.generation);
  const double usable = c.nvlink ? k.nvlink_usable[g] : k.pcie_ring_share;
  c.intra_nominal_gbps = std::max(kLeastGbps, f.intra_bandwidth.value() * kGiga);
  c.intra_gbps = std::max(kLeastGbps, f.intra_ring_bandwidth.value() * kGiga * usable);
  if (f.intra_socket_bandwidth.value() > 0)
    c.intra_gbps = std::min(c.intra_gbps, std::max(kLeastGbps, f.intra_socket_bandwidth.value() * kGiga));
  c.inter_gbps = std::max(kLeastGbps, f.node_bandwidth.value() * kGiga * network_share(f, g, k));
  const BytesPerSecond pairs = f.pairs_bandwidth.value() > 0 ? f.pairs_bandwidth : f.node_bandwidth;
  c.pairs_gbps = std::max(kLeastGbps, pairs.value() * kGiga * network_share(f, g, k));
  for (const topology::Traffic traffic : topology::kTraffic) {
    const auto i = static_cast<std::size_t>(traffic);
    if (f.uplink_limits[i].value() > 0)
      c.uplink_gbps[i] = std::max(kLeastGbps, f.uplink_limits[i].value() * kGiga * network_share(f, g, k));
  }
  c.nics = std::max(1.0, f.nics_per_node);
  c.extra_net_us = c.nodes > 1 ? hop_latency_us(f, g, k) - k.reference_net : 0;
  c.halves_tree_traffic = c.generation >= (f.transport == topology::Transport::efa ? 2 : 1);
  c.extra_intra_us =
      c.per_node > 1 ? std::max(0.0, f.intra_latency.us() - (c.nvlink ? k.reference_nvlink : k.reference_pcie)) : 0;
  c.count = channel_count(c);
  c.own_nics = f.has_own_nics();
  c.through_nics = prefers_nics(c);
  if (c.through_nics) c.intra_gbps = c.inter_gbps / c.per_node;
  // Of both ways the faster, in rate and in latency: a better link of one is never worse.
  if (c.own_nics)
    c.extra_intra_us = std::min(c.extra_intra_us, std::max(0.0, hop_latency_us(f, g, k) - k.reference_net));
  return c;
}

double network_hop_us(const Channels& c, double nccl_us) {
  constexpr double kShortestHopUs = 0.5;
  return std::max(kShortestHopUs, nccl_us + c.extra_net_us);
}

double ramp_us(const Channels& c, Protocol protocol) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation), p = static_cast<std::size_t>(protocol);
  const double inside = (protocol == Protocol::ll ? k.ramp_ll : k.ramp_bulk)[g] * (c.nvlink || c.nodes > 1 ? 1.0 : 0.0);
  return inside + (c.nodes > 1 ? k.ramp_hops[p] * network_hop_us(c, k.nccl.tree_net[p]) : 0.0);
}

bool allows_ll128(const Channels& c) { return (c.nvlink || c.per_node == 1) && (c.gpu_direct || c.nodes == 1); }

double exchange_link_gbps(const Channels& c) {
  const ModelConstants& k = *c.k;
  return c.nvlink ? k.exchange_share[static_cast<std::size_t>(c.generation)] * c.intra_nominal_gbps
                  : k.exchange_pcie_share * c.intra_gbps;
}

double nvls_all_reduce_gbps(const Channels& c) {
  const ModelConstants& k = *c.k;
  const double n = c.per_node;
  return k.nvls_share[static_cast<std::size_t>(c.generation)] * c.intra_nominal_gbps / (1 + 1 / n);
}

double uplinks_gbps(const Channels& c, topology::Traffic traffic) {
  return c.uplink_gbps[static_cast<std::size_t>(traffic)];
}

double nics_gbps(const Channels& c, topology::Traffic traffic) {
  return traffic == topology::Traffic::all_pairs ? c.pairs_gbps : c.inter_gbps;
}

double across_gbps(const Channels& c, topology::Traffic traffic) {
  return std::min(nics_gbps(c, traffic), uplinks_gbps(c, traffic));
}

std::string_view network_limit(const Channels& c, topology::Traffic traffic) {
  return across_gbps(c, traffic) < nics_gbps(c, traffic) ? "uplinks" : "network";
}

std::string_view inside_limit(const Channels& c) { return c.through_nics ? "network" : "links within the node"; }

std::string_view slower_link(const Channels& c, topology::Traffic traffic, double inside_gbps, double over_nics) {
  const double uplinks = uplinks_gbps(c, traffic);
  if (c.nodes == 1 || (c.per_node > 1 && inside_gbps <= std::min(over_nics, uplinks))) return inside_limit(c);
  return uplinks < over_nics ? "uplinks" : "network";
}

}  // namespace distsim::collectives
