// Hierarchical all_to_all, as HugeCTR and others write it: first the GPUs of a node exchange over NVLink what leaves on
// each rail, then GPU j of every node exchanges with the GPUs j of the others. A rank has nodes - 1 messages on the
// network instead of n - per node.
//   time = set-up of two phases + (nodes - 1) messages + bytes over NVLink + bytes over the NICs (one phase after the
//   other)
#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

void add_hierarchical(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const double n = c.ranks, p = c.per_node;
  const double across_us_per_byte =
      (n - p) / n / (k.exchange_net_share * across_gbps(c, topology::Traffic::all_pairs) / p);
  const double inside_us_per_byte = (p - 1) / p / exchange_link_gbps(c);
  const double net = network_hop_us(c, k.nccl.tree_net[0]);
  Candidate x{Protocol::simple, 0, 1 / (across_us_per_byte + inside_us_per_byte)};
  x.latency_us = k.hierarchical_phase * 2 + net + (c.nodes - 1.0) * k.hierarchical_per_message;
  x.steps = c.nodes;
  x.limit = across_us_per_byte >= inside_us_per_byte ? network_limit(c, topology::Traffic::all_pairs) : inside_limit(c);
  out.push_back(x);
}

/// (p - 1) / p of each rank's buffer over NVLink, (N - 1) / N over the network.
double hierarchical_traffic(graph::CollectiveKind, Grid g) {
  return (g.per_node - 1.0) * g.nodes + (g.nodes - 1.0) * g.per_node;
}

}  // namespace

extern constinit const AlgorithmInfo hierarchical_algorithm = checked(
    {.name = "hierarchical",
     .sentence =
         "Across nodes in two levels, over NVLink and then along rails; used where collectives.exchange selects it.",
     .kinds = {graph::CollectiveKind::all_to_all, graph::CollectiveKind::all_to_all_v},
     .traffic = topology::Traffic::all_pairs,
     .exchange = Exchange::hierarchical,
     .applies = [](const Channels& c) { return c.nodes >= 2 && c.per_node >= 2; },
     .add = add_hierarchical,
     .schedule = {[](graph::CollectiveKind, Grid g, std::int64_t bytes) {
                    return hierarchical_all_to_all(g.nodes, g.per_node, bytes);
                  },
                  hierarchical_traffic}});

}  // namespace distsim::collectives
