// Fabric: the network between nodes, by levels. Leaves join ports of nodes, the spine of a pod joins its leaves, the
// core joins pods. The switches of a spine (and of the core) act as one: adaptive routing stripes traffic over them,
// and their number changes nothing but the wiring.
//
// Uplinks of a leaf: ports x rate / oversubscription; of a pod's spine: the sum of its leaves' uplinks over
// spine_oversubscription. A message pays the adapter's latency, which includes one switch, and switch_latency for each
// further switch: 1 within a leaf, 3 within a pod, 5 beyond.
//
// Dragonfly: leaves are routers, pods are groups. A router's links to the others of its group are its uplinks, a
// group's global links those of a pod; a message sees 2 routers within a group, 4 beyond.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/shapes/shape.hpp"

namespace distsim::topology {

/// Uplinks can be full before the NICs below them are: they are oversubscribed, direct links of a dragonfly, or loaded by
/// others.
bool uplinks_can_fill(const FabricSpec& fabric, const FabricUse& use = {});

/// Nodes of one of the jobs under a leaf, and under the leaves of a pod: whole ones, at least 1; exact where their number
/// divides the nodes that are there.
std::uint64_t nodes_per_leaf(const FabricSpec& fabric, const FabricUse& use);
std::uint64_t nodes_per_pod(const FabricSpec& fabric, const FabricUse& use);

class Fabric {
 public:
  Fabric() = default;
  Fabric(const ClusterSpec& spec, std::uint32_t nodes);

  std::uint32_t leaf_of(std::uint32_t node, std::uint32_t nic) const { return shape_->leaf_of(spec_, node, nic); }
  std::uint32_t pod_of_leaf(std::uint32_t leaf) const { return leaf / leaves_per_pod_; }
  std::uint32_t leaves() const { return leaves_; }
  std::uint32_t pods() const { return pod_of_leaf(leaves_ - 1) + 1; }
  bool rails() const { return shape_->rails; }
  bool direct() const { return shape_->direct; }

  /// Switches between two ports: 1, 3 or 5; 1, 2 or 4 in a dragonfly.
  std::uint32_t switches_between(std::uint32_t leaf_a, std::uint32_t leaf_b) const;
  Duration latency(std::uint32_t switches) const;

  /// Hops from adapter `a` (port nic_a of node_a) to adapter `b`.
  struct Port {
    Place place;
    std::uint32_t node = 0, nic = 0;
  };
  std::vector<Hop> path(const Port& a, const Port& b) const;

  /// "leaf - spine" and "spine - core", or what a dragonfly has instead.
  std::string_view leaf_level() const { return direct() ? "router - router" : "leaf - spine"; }
  std::string_view pod_level() const { return direct() ? "group - group" : "spine - core"; }

  BytesPerSecond leaf_uplink() const;  ///< of a leaf, per direction, nominal
  BytesPerSecond pod_uplink() const;   ///< of a pod with all its leaves
  BytesPerSecond bisection() const;
  std::string dump() const;

 private:
  ClusterSpec spec_;
  const FabricShape* shape_ = nullptr;
  std::uint32_t nodes_ = 1, leaves_ = 1, leaves_per_pod_ = 1;
};

}  // namespace distsim::topology
