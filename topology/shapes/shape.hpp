// Shapes: the ways in which the GPUs of a node (NodeShape) and the nodes of a cluster (FabricShape) can be wired.
//
// An entry describes itself: name, sentence, properties and functions. To add one: a file that defines it as
//   extern constinit const NodeShape torus_shape = checked({.name = "torus", ...});
// and a line in registry.cpp. The key of the configuration, its reference, `distsim list` and the tests of all shapes
// (tests/topology/shapes_test.cpp) take it from there.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "topology/node_graph.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {

/// What some GPUs of one node (or NVLink domain) can do among themselves.
struct IntraFacts {
  const NodeShape* shape =
      nullptr;               ///< how they communicate: the node's shape, or pcie where NVLink does not join them
  BytesPerSecond bandwidth;  ///< see GroupFacts::intra_bandwidth
  BytesPerSecond ring;       ///< see GroupFacts::intra_ring_bandwidth
  Duration latency;          ///< one way, worst pair
  BytesPerSecond sockets{};  ///< see GroupFacts::intra_socket_bandwidth

  BytesPerSecond ring_limit() const { return sockets.value() > 0 ? std::min(ring, sockets) : ring; }
};

/// Functions see a spec whose `gpus_per_node` is the number of installed GPUs.
struct NodeShape {
  std::string_view name;  ///< of `cluster.gpu_links.kind`
  std::string_view sentence;
  bool nvlink = false;    ///< GPUs are connected by NVLink
  bool switched = false;  ///< by NVSwitches: every pair at full speed; they may multicast and join nodes to one domain
  /// Refuses GPU and link counts that this shape cannot have.
  Result<void> (*check)(const ClusterSpec& spec) = nullptr;
  /// Adds the links between the GPUs, and their switches.
  void (*connect)(const ClusterSpec& spec, NodeGraph& graph) = nullptr;
  /// Closed form of the NVLinks of a GPU that `connect` uses, in a node of two GPUs or more.
  std::int64_t (*degree)(const ClusterSpec& spec, std::uint32_t gpu) = nullptr;
  /// Facts of two GPUs or more; `locals` are their numbers in the node or domain, ascending.
  IntraFacts (*facts)(const ClusterSpec& spec, const NodeGraph& graph, std::span<const std::uint32_t> locals) = nullptr;
  /// First half of the GPUs against the rest, per direction.
  BytesPerSecond (*bisection)(const ClusterSpec& spec, const NodeGraph& graph) = nullptr;
};

struct FabricShape {
  std::string_view name;  ///< of `cluster.fabric.kind`
  std::string_view sentence;
  bool rails = false;   ///< ports with the same number share a leaf
  bool uplinks = true;  ///< leaves have uplinks, which can be oversubscribed
  bool direct = false;  ///< leaves of a pod, and pods, are joined to each other directly, without spine and core
  /// Leaf switch of a port.
  std::uint32_t (*leaf_of)(const ClusterSpec& spec, std::uint32_t node, std::uint32_t nic) = nullptr;
  std::uint32_t (*leaves_per_pod)(const ClusterSpec& spec) = nullptr;
  /// Ports towards nodes of a fully populated leaf.
  std::uint32_t (*ports_per_leaf)(const ClusterSpec& spec) = nullptr;
};

/// The entry itself; an incomplete one does not compile.
consteval NodeShape checked(const NodeShape& s) {
  const bool complete = !s.name.empty() && s.sentence.ends_with('.') && s.check != nullptr && s.connect != nullptr &&
                        s.degree != nullptr && s.facts != nullptr && s.bisection != nullptr;
  if (!complete || (s.switched && !s.nvlink)) throw "a node shape needs a name, a sentence and all its functions";
  return s;
}
consteval FabricShape checked(const FabricShape& s) {
  const bool complete = !s.name.empty() && s.sentence.ends_with('.') && s.leaf_of != nullptr &&
                        s.leaves_per_pod != nullptr && s.ports_per_leaf != nullptr;
  if (!complete) throw "a fabric shape needs a name, a sentence and all its functions";
  return s;
}

std::span<const NodeShape* const> node_shapes();
std::span<const FabricShape* const> fabric_shapes();

extern const NodeShape pcie_shape;  ///< also what GPUs use that NVLinks do not connect
extern const NodeShape none_shape;

/// An error about a key of the cluster section: "cluster.KEY: found FOUND, expected EXPECTED".
Error cluster_error(const std::string& key, const std::string& found, const std::string& expected);

}  // namespace distsim::topology
