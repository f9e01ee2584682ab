// What the learned correction of graphs (graph_network.hpp) is told of an iteration: its distinct ops, which follows which,
// and the GPU.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/graph/costed_graph.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::opmodels {

inline constexpr std::size_t kNodeFacts = 13;
inline constexpr std::size_t kDeviceFacts = 5;

/// An op of the graph: its kind (product, attention, softmax, normalisation, pointwise, lookup, other: one of them 1), and
///   log10 of FLOP / 1e9; of bytes / 1e6, taken from the time that memory takes; of seconds / 1e-4;
///   shares of its time that the matrix units, the plain lanes and the memory set.
struct GraphNode {
  std::array<double, kNodeFacts> facts{};
  double share = 0;  ///< of the time of all kernels, with all its repetitions
};

/// Kernels that follow each other on the compute stream, of all repetitions together.
struct GraphEdge {
  std::uint32_t from = 0, to = 0;
  double weight = 0;     ///< share of the kernels before `to` that are `from`
  double log_bytes = 0;  ///< log10 of the bytes of `from` / 1e6
};

struct GraphFacts {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  /// log2 of FLOP/s in fp32 over memory bandwidth (FLOP/B), of memory bandwidth in TB/s, of L2 in MiB, of the L2's over the
  /// memory's bandwidth, and of SMs / 100. As the device's file has them: what-ifs change times, not what is known of a GPU.
  std::array<double, kDeviceFacts> device{};
};

/// Of the kernels that models price; `graph` with the prices before any correction. Empty where there are none, or where
/// ranks differ. Copies, collectives and the host are no part of it. Equal ops (graph::key_of) are one node.
GraphFacts graph_facts(const graph::CostedGraph& graph, const topology::DeviceSpec& device);

}  // namespace distsim::opmodels
