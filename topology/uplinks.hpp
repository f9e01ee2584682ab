// Uplinks: how fast the nodes of a group can send before the uplinks of a leaf or pod are full.
//
//   load(u)  = bytes that leave leaf (or pod) u by its uplinks / bytes that one node sends through its NICs
//   limit    = min over both levels and all u of capacity(u) / load(u), as a rate of one node
//
// For a group of N nodes, m of them under u, next to each other:
//   ring       1: of the nodes under u one sends to another leaf
//   tree       (edges of both trees with one end under u) / 4: an inner node of one tree is a leaf of the other and has
//              4 edges, each with half of the data up and half of it down
//   doubling   sum over d = 1, 2, 4, ... < N of min(d, m, N - d, N - m) x (share of the bytes that travel d nodes)
//   all_pairs  m (N - m) / (N - 1)
//   rooted     (N - m) / (N - 1) under the root's leaf
// An NVLink domain counts as one node; its trays send in equal parts, each to the same tray of the other domain where
// it can, and may be under different leaves. On rails without NVLink a message for another rail crosses the spine even
// under one leaf: all_pairs is m (N - 1 - (m - 1) / rails) / (N - 1) there.
//
// capacity: of a rail-optimised fabric the uplinks of the rails that the group uses, else those of all NICs. Where
// siblings communicate, they are taken to be groups like this one, which tile the nodes of the job: each has the part of
// the uplinks that it has in their load, or, where other nodes are between those of a group, in the nodes under u.
// In a dragonfly the global links between two groups are only a part of what each has, and the rest is reached by
// detours over other groups (Valiant routing), which load global links twice: of P groups, traffic other than all_pairs
// has (1 + 1 / (P - 1)) / 2 of the capacity. Direct links within a group are taken as one pool.
//
// Valid for members in the order of their nodes and nearly equal parts on each node.
#pragma once

#include <array>
#include <span>

#include "topology/topology_parts.hpp"

namespace distsim::topology {

/// GroupFacts::uplink_limits of a group of two nodes or more, with all that uplinks have, be they loaded or not. `nics`:
/// GroupFacts::nics_per_node; `rails`: sets of NICs that the members of a node are nearest to. Other jobs' nodes, which lie
/// between those of the group, are left out of what a leaf or pod has.
std::array<BytesPerSecond, std::size(kTraffic)> uplink_limits(const TopologyParts& parts,
                                                              std::span<const std::uint32_t> members, Siblings siblings,
                                                              const FabricUse& use, double nics, std::uint32_t rails);

}  // namespace distsim::topology
