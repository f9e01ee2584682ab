// Temporal graph network (Rossi et al. 2020, arXiv 2006.10637; trained over several GPUs as in TGL, Zhou et al. 2022, arXiv
// 2203.14883): interactions of a dynamic graph in the order of time, a memory vector for every node, attention over
// neighbours sampled on the host.
#pragma once

#include "base/config/schema.hpp"
#include "base/units.hpp"
#include "sim/workload/layers/layer.hpp"

namespace distsim::workload {

struct TgnSpec {
  std::int64_t nodes = 9227;
  std::int64_t edge_features = 172;
  std::int64_t memory_dim = 172, time_dim = 172, embedding_dim = 172;
  std::int64_t neighbors = 10, layers = 1, heads = 2;
  double node_skew = 1;
  bool memory_on_host = false;
  Duration sampling_per_node = Duration::nanoseconds(2000);
  bool overlap_sampling = false;
  bool dropout = true;

  /// Memory of both ends, features of the edge, encoding of the time since the last message.
  std::int64_t message_dim() const { return 2 * memory_dim + edge_features + time_dim; }
  /// Nodes that a sample looks at: source, destination and a random one, and their neighbours of each hop.
  std::int64_t roots() const { return 3; }
  std::int64_t nodes_at(std::int64_t hop) const;  ///< hop 0: the roots; a node comes again with each hop
};
Schema<TgnSpec> tgn_schema();

/// A sample is an interaction. Forward order, of B samples with n neighbours over L hops, d = memory_dim:
///   memory      rows of d looked up for all 3 B (1 + n)^L nodes, features for the edges to neighbours
///   update      GRU cell from message_dim to d on the 2 B nodes of the interactions before
///   time        cos(w t + b) for every node and neighbour
///   attention   of each hop, innermost first: queries (width + time_dim), keys and values (width + edge_features +
///               time_dim), width the embedding of the hop before (the innermost: d); output projection; MLP of two
///               layers over the result and the node's own vector
///   decoder     MLP of two layers over pairs, 2 B of them: the interaction and one that did not happen
///   store       memory and messages of 2 B nodes written back
std::vector<Layer> tgn_layers(const TgnSpec& spec, std::int64_t samples, const LayerContext& context);

}  // namespace distsim::workload
