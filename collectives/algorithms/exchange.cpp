// Grouped send/recv: all_to_all. Of the S bytes of a rank's buffer, S(p-1)/n stay in its node of p members and S(n-p)/n
// cross the network.
//   time = set-up + per peer cost * (n - 1) + the longest of: bytes over its links inside the node, bytes over its share
//   of the node's NICs, bytes of a leaf or pod for others over its uplinks
// Rails and PXN: what leaves for GPU j of another node first hops to the local GPU near NIC j over NVLink, so it
// loads NVLink too.
#include <algorithm>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

struct Load {
  double gbps;  ///< of the size column
  std::string_view limit;
};

Load exchange_rate(const Channels& c) {
  const ModelConstants& k = *c.k;
  const double n = c.ranks, p = c.per_node;
  const double link = exchange_link_gbps(c);
  if (c.nodes == 1 && !c.through_nics) return {link * n / (n - 1), "links within the node"};
  const double inside_bytes = c.through_nics ? 0 : ((p - 1) + (c.nvlink ? (n - p) * (p - 1) / p : 0)) / n;
  const double crossing_bytes = (c.through_nics ? n - 1 : n - p) / n;
  const double inside = inside_bytes > 0 ? link / inside_bytes : kUnlimitedGbps;
  // Of the hardware, not of the way within a node: fewer bytes over the NICs are never slower.
  const double share = c.own_nics ? k.ring_net_share : k.exchange_net_share;
  const double nics = share * nics_gbps(c, topology::Traffic::all_pairs) / p / crossing_bytes;
  const double uplinks =
      c.nodes > 1 ? share * uplinks_gbps(c, topology::Traffic::all_pairs) / p / ((n - p) / n) : kUnlimitedGbps;
  const double across = std::min(nics, uplinks);
  if (across > inside) return {inside, "links within the node"};
  return {across, uplinks < nics ? "uplinks" : "network"};
}

void add_exchange(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const Load load = exchange_rate(c);
  const double net = c.nodes > 1 ? network_hop_us(c, k.nccl.tree_net[0]) : 0;
  const double peers = (c.per_node - 1) * k.exchange_per_peer + (c.ranks - c.per_node) * k.exchange_per_net_peer;
  const double latency = k.exchange_base + net + peers;
  Candidate ll{Protocol::ll, latency, kLlShare * load.gbps};
  Candidate simple{Protocol::simple, latency + k.exchange_simple, load.gbps};
  for (Candidate* x : {&ll, &simple}) {
    x->steps = c.ranks - 1;
    x->ramp_us = c.nvlink || c.nodes > 1 ? k.ramp_exchange[static_cast<std::size_t>(c.generation)] : 0;
    x->limit = load.limit;
    out.push_back(*x);
  }
}

}  // namespace

extern constinit const AlgorithmInfo exchange_algorithm =
    checked({.name = "exchange",
             .sentence = "Grouped send/recv between all pairs, with NICs reached over NVLink by PXN.",
             .kinds = {graph::CollectiveKind::all_to_all, graph::CollectiveKind::all_to_all_v},
             .traffic = topology::Traffic::all_pairs,
             .exchange = Exchange::grouped,
             .add = add_exchange,
             .schedule = {[](graph::CollectiveKind, Grid g, std::int64_t bytes) {
                            return pairwise_all_to_all(g.ranks(), bytes);
                          },
                          [](graph::CollectiveKind, Grid g) { return g.ranks() - 1.0; }}});

}  // namespace distsim::collectives
