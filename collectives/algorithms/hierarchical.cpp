// Hierarchical all_to_all, as HugeCTR and others write it: first the GPUs of a node exchange over NVLink what leaves on
// each rail, then GPU j of every node exchanges with the GPUs j of the others. A rank has nodes - 1 messages on the
// network instead of n - per node.
//   time = set-up of two phases + (nodes - 1) messages + bytes over NVLink + bytes over the NICs (one phase after the
//   other)
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace distsim::collectives {

void add_hierarchical(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  if (kind != graph::CollectiveKind::all_to_all && kind != graph::CollectiveKind::all_to_all_v) return;
  if (c.nodes < 2 || c.per_node < 2) return;
  const double n = c.ranks, p = c.per_node;
  const double across_us_per_byte = (n - p) / n / (k.exchange_net_share * c.inter_gbps / p);
  const double inside_us_per_byte = (p - 1) / p / exchange_link_gbps(c);
  const double net = std::max(0.5, k.nccl.tree_net[0] + c.extra_net_us);
  Candidate x{Algorithm::hierarchical, Protocol::simple, 0, 1 / (across_us_per_byte + inside_us_per_byte)};
  x.latency_us = k.hierarchical_phase * 2 + net + (c.nodes - 1.0) * k.hierarchical_per_message;
  x.steps = c.nodes;
  x.limit = across_us_per_byte >= inside_us_per_byte ? "network" : "links within the node";
  out.push_back(x);
}

}  // namespace distsim::collectives
