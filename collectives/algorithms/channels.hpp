// Channels: what NCCL's graph search would find for a group, from the group's hardware facts.
//
// NCCL lays rings and trees over the links until no more fit, each at a speed from a table. For symmetric nodes the sum
// over channels is the usable link bandwidth, so the search reduces to a few figures. Source: NCCL 2.30
// src/graph/search.cc, topo.h, tuning.cc.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>

#include "collectives/algorithms/candidate.hpp"
#include "collectives/algorithms/model_constants.hpp"
#include "topology/topology.hpp"

namespace distsim::collectives {

/// Stands for "no limit" where the least of several rates is taken, GB/s.
inline constexpr double kUnlimitedGbps = 1e9;
constexpr std::array<double, std::size(topology::kTraffic)> unlimited_uplinks() {
  std::array<double, std::size(topology::kTraffic)> all{};
  all.fill(kUnlimitedGbps);
  return all;
}

struct Channels {
  const ModelConstants* k = nullptr;                 ///< outlives the channels
  std::uint32_t ranks = 0, nodes = 0, per_node = 0;  ///< per_node: the most on one node
  int generation = 1;   ///< 0 Volta and older, 1 Ampere and Ada, 2 Hopper, 3 Blackwell, 4 AMD: index of the constants
  bool nvlink = false;  ///< members of a node are joined by NVLink
  bool full_mesh = false;           ///< every pair of a node at full speed (NVSwitch)
  bool halves_tree_traffic = true;  ///< on two nodes a tree crosses the network with half of the data each way
  bool own_nics = false;            ///< no NVLink, and a NIC for each GPU: no hop to another GPU, as by PXN
  bool through_nics = false;        ///< these are faster than PCIe: traffic within a node takes the NICs as well
  bool multicast = false, sharp = false, gpu_direct = true;
  double count = 1;               ///< channels over the whole group
  double intra_gbps = 0;          ///< sum over the rings inside a node, usable by NCCL
  double intra_nominal_gbps = 0;  ///< one GPU to its node, data sheet
  double inter_gbps = 0;          ///< network of the members of one node, per direction
  double pairs_gbps = 0;          ///< the same as an exchange of all pairs sees it (GroupFacts::pairs_bandwidth)
  /// By topology::Traffic: inter_gbps at which uplinks of the fabric are full; the NICs' shares of their nominal rate
  /// count for uplinks too.
  std::array<double, std::size(topology::kTraffic)> uplink_gbps = unlimited_uplinks();
  double nics = 0;  ///< NICs of the members of one node
  double extra_net_us =
      0;  ///< one-way latency beyond that of the InfiniBand that the constants were found on (may be negative)
  double extra_intra_us = 0;  ///< one hop beyond that of the NVSwitch that the constants were found on
};

/// `facts.ranks` >= 2. Every rate in the result is positive and finite.
Channels channels_of(const topology::GroupFacts& facts, const ModelConstants& constants = shipped_constants());

/// Network rate of a node at which uplinks are full of this traffic.
double uplinks_gbps(const Channels& channels, topology::Traffic traffic);
/// Network rate of a node's NICs for this traffic.
double nics_gbps(const Channels& channels, topology::Traffic traffic);
/// Network rate of a node for this traffic: of its NICs, or less where uplinks are full before.
double across_gbps(const Channels& channels, topology::Traffic traffic);
/// Of a channel's bytes that are data with LL: every 8-byte store carries 4 bytes of flag.
inline constexpr double kLlShare = 0.5;

/// A network hop in us: NCCL's latency for it, corrected by how much this network's latency differs from that of the
/// InfiniBand it was found on. At least half a microsecond, which no network of today is below.
double network_hop_us(const Channels& channels, double nccl_us);
/// Fill and drain of the pipeline of rings, trees and NVLS, in us.
double ramp_us(const Channels& channels, Protocol protocol);
/// LL128 needs NVLink (or a path that keeps 128-byte stores in one piece) and sm70.
bool allows_ll128(const Channels& channels);
/// What one GPU sends to the others of its node at once in grouped send/recv, GB/s.
double exchange_link_gbps(const Channels& channels);
/// Algorithm bandwidth of an all_reduce by the NVSwitches of a node, GB/s.
double nvls_all_reduce_gbps(const Channels& channels);
/// What bounds this traffic between nodes, in words: "network" (the NICs) or "uplinks".
std::string_view network_limit(const Channels& channels, topology::Traffic traffic);
/// What traffic within a node goes over, in words: the NICs, where GPUs reach those faster than each other.
std::string_view inside_limit(const Channels& channels);
/// What bounds rings and trees, in words, where they reach these rates over the links of a node and over its NICs.
std::string_view slower_link(const Channels& channels, topology::Traffic traffic, double inside_gbps, double over_nics);

}  // namespace distsim::collectives
