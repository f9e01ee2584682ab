// Channels: what NCCL's graph search would find for a group, from the group's hardware facts.
//
// NCCL lays rings and trees over the links until no more fit, each at a speed from a table. For symmetric nodes the sum
// over channels is the usable link bandwidth, so the search reduces to a few figures. Source: NCCL 2.30
// src/graph/search.cc, topo.h, tuning.cc.
#pragma once

#include <cstdint>

#include "collectives/algorithms/model_constants.hpp"
#include "topology/topology.hpp"

namespace distsim::collectives {

struct Channels {
  const ModelConstants* k = nullptr;                 ///< outlives the channels
  std::uint32_t ranks = 0, nodes = 0, per_node = 0;  ///< per_node: the most on one node
  int generation = 1;      ///< 0 Volta and older, 1 Ampere and Ada, 2 Hopper, 3 Blackwell: index of the constants
  bool nvlink = false;     ///< members of a node are joined by NVLink
  bool full_mesh = false;  ///< every pair of a node at full speed (NVSwitch)
  bool halves_tree_traffic = true;  ///< on two nodes a tree crosses the network with half of the data each way
  bool through_nics =
      false;  ///< no NVLink, and a NIC beside each GPU that beats PCIe: traffic inside a node takes the NICs as well
  bool multicast = false, sharp = false, peer_to_peer = true, gpu_direct = true;
  double count = 1;               ///< channels over the whole group
  double intra_gbps = 0;          ///< sum over the rings inside a node, usable by NCCL
  double intra_nominal_gbps = 0;  ///< one GPU to its node, data sheet
  double inter_gbps = 0;          ///< network of the members of one node, per direction
  double nics = 0;                ///< NICs of the members of one node
  double extra_net_us =
      0;  ///< one-way latency beyond that of the InfiniBand that the constants were found on (may be negative)
  double extra_intra_us = 0;  ///< one hop beyond that of the NVSwitch that the constants were found on
};

/// `facts.ranks` >= 2. Every rate in the result is positive and finite.
Channels channels_of(const topology::GroupFacts& facts, const ModelConstants& constants = shipped_constants());

}  // namespace distsim::collectives
