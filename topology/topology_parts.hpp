// What a Topology holds, for the files of this folder.
#pragma once

#include "topology/node_graph.hpp"
#include "topology/nvlink_domains.hpp"
#include "topology/shapes/fabric.hpp"
#include "topology/shapes/shape.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {

struct TopologyParts {
  ClusterSpec spec;
  ClusterSpec machine;  ///< spec with all installed GPUs: what the wiring follows from
  std::int64_t compute_capability = 0;
  const NodeShape* shape = nullptr;
  NodeGraph node;  ///< of one node; the NVSwitches of its whole domain included
  Fabric fabric;
  std::vector<std::vector<std::uint32_t>> gpu_nics;  ///< ports that each GPU of a node uses
  std::vector<std::uint32_t> nic_gpus;               ///< how many GPUs of a node use each port
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 1;  ///< of a node, used ones
  NvlinkDomains domains;
};

std::vector<Hop> find_route(const TopologyParts& parts, std::uint32_t from, std::uint32_t to);
GroupFacts group_facts(const TopologyParts& parts, std::span<const std::uint32_t> members, Siblings siblings,
                       const FabricUse& use, std::span<const std::uint32_t> busy);

struct Topology::Impl : TopologyParts {};

}  // namespace distsim::topology
