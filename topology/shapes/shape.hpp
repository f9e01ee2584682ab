// Shapes: the ways in which the GPUs of a node and the nodes of a cluster can be wired. One file per shape;
// topology/registry.cpp lists them.
#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "topology/node_graph.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {

/// What some GPUs of one node (or NVLink domain) can do among themselves.
struct IntraFacts {
  IntraNode kind = IntraNode::none;
  BytesPerSecond bandwidth;  ///< see GroupFacts::intra_bandwidth
  BytesPerSecond ring;       ///< see GroupFacts::intra_ring_bandwidth
  Duration latency;          ///< one way, worst pair
};

struct NodeShape {
  IntraNode kind;
  std::string_view name;
  std::string_view sentence;
  Result<void> (*check)(const ClusterSpec& spec);  ///< refuses GPU and link counts that this shape cannot have
  void (*connect)(const ClusterSpec& spec, NodeGraph& graph);  ///< adds the links between the GPUs, and their switches
  /// Facts of two GPUs or more; `locals` are their numbers in the node or domain, ascending.
  IntraFacts (*facts)(const ClusterSpec& spec, const NodeGraph& graph, std::span<const std::uint32_t> locals);
  BytesPerSecond (*bisection)(const ClusterSpec& spec,
                              const NodeGraph& graph);  ///< first half of the GPUs against the rest
};

struct FabricShape {
  FabricKind kind;
  std::string_view name;
  std::string_view sentence;
  std::uint32_t (*leaf_of)(const ClusterSpec& spec, std::uint32_t node, std::uint32_t nic);  ///< leaf switch of a port
  std::uint32_t (*leaves_per_pod)(const ClusterSpec& spec);
  std::uint32_t (*ports_per_leaf)(const ClusterSpec& spec);  ///< ports towards nodes when all places are taken
};

std::span<const NodeShape> node_shapes();
std::span<const FabricShape> fabric_shapes();
const NodeShape& node_shape(IntraNode kind);
const FabricShape& fabric_shape(FabricKind kind);

NodeShape nvswitch_shape();          // nvswitch.cpp
NodeShape hybrid_cube_mesh_shape();  // hybrid_cube_mesh.cpp
NodeShape full_mesh_shape();         // full_mesh.cpp
NodeShape pcie_shape();              // pcie_tree.cpp
NodeShape single_gpu_shape();        // pcie_tree.cpp
FabricShape fat_tree_shape();        // fabric.cpp, with the next two
FabricShape rail_optimized_shape();
FabricShape single_switch_shape();

/// An error about a key of the cluster section: "cluster.KEY: found FOUND, expected EXPECTED".
Error cluster_error(const std::string& key, const std::string& found, const std::string& expected);

}  // namespace distsim::topology
