// GPUs joined by NVLinks without a switch: how many rings fit on the links, what a ring all-reduce over them can use.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/shapes/shape.hpp"

namespace distsim::topology {

/// Parallel links between each pair of a few GPUs; symmetric, zero diagonal.
class LinkMatrix {
 public:
  explicit LinkMatrix(std::uint32_t n) : n_(n), links_(static_cast<std::size_t>(n) * n, 0) {}
  std::uint32_t size() const { return n_; }
  std::uint32_t at(std::uint32_t i, std::uint32_t j) const { return links_[static_cast<std::size_t>(i) * n_ + j]; }
  void set(std::uint32_t i, std::uint32_t j, std::uint32_t count);
  std::uint32_t degree(std::uint32_t i) const;

 private:
  std::uint32_t n_;
  std::vector<std::uint32_t> links_;
};

/// Largest number of directed rings over all vertices that share no direction of a link. For n = 2 that is the number
/// of links; for n >= 3 twice the largest number of edge-disjoint Hamiltonian cycles, as each cycle runs both ways.
/// Exact search, n <= 8.
std::uint32_t ring_count(const LinkMatrix& links);

/// Where no cycle fits: width of the one ring that walks a spanning tree and back, forwarding through members. Links of
/// the tree's thinnest edge, made as thick as possible; 0 where the vertices are not connected.
std::uint32_t tree_walk_width(const LinkMatrix& links);

/// NVLinks among some GPUs of a node.
LinkMatrix nvlinks_among(const NodeGraph& graph, std::span<const std::uint32_t> locals);

/// Facts by ring search, for at most 8 GPUs; those that NVLinks do not connect communicate over PCIe. A pair without a
/// link of its own is taken to forward once.
IntraFacts mesh_facts(const NodeShape& shape, const ClusterSpec& spec, const NodeGraph& graph,
                      std::span<const std::uint32_t> locals);

/// Sum of the NVLinks between the first half of the GPUs and the rest.
BytesPerSecond mesh_bisection(const ClusterSpec& spec, const NodeGraph& graph);

}  // namespace distsim::topology
