// Point-to-point messages: send_recv (each rank sends to its neighbour; the slowest pair decides, which crosses nodes
// as soon as the group does), gather and scatter (everything goes through the root's links).
#include <algorithm>
#include <tuple>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

double link_gbps(const Channels& c) {
  const ModelConstants& k = *c.k;
  return c.nvlink ? k.send_share * c.intra_nominal_gbps
                  : std::min(c.intra_gbps, k.exchange_pcie_share * c.intra_nominal_gbps);
}

/// What link_gbps is the rate of: messages reach less of PCIe than rings, so that it bounds them where rings take the NICs.
std::string_view link_limit(const Channels& c) {
  const bool by_nics = c.through_nics && c.intra_gbps <= c.k->exchange_pcie_share * c.intra_nominal_gbps;
  return by_nics ? inside_limit(c) : "links within the node";
}

/// The NICs nearest to one GPU. Neighbours send around the ranks, so one GPU of a node crosses to the next node and has
/// them to itself.
double nic_of_one_gpu(const Channels& c) { return c.inter_gbps / c.nics * std::max(1.0, c.nics / c.per_node); }

/// The same, or the uplinks where they are full before.
double network_of_one_gpu(const Channels& c, topology::Traffic traffic) {
  return std::min(nic_of_one_gpu(c), uplinks_gbps(c, traffic));
}

std::string_view slower_of_network(const Channels& c, topology::Traffic traffic) {
  return network_of_one_gpu(c, traffic) < nic_of_one_gpu(c) ? "uplinks" : "network";
}

void add(std::vector<Candidate>& out, const Channels& c, double latency, double gbps, std::uint32_t steps,
         std::string_view limit) {
  const ModelConstants& k = *c.k;
  const double net = c.nodes > 1 ? network_hop_us(c, k.nccl.tree_net[0]) : 0;
  const double simple = c.nodes > 1 ? network_hop_us(c, k.nccl.tree_net[2]) : k.nccl.tree_nvlink[2];
  for (auto [protocol, extra, share] :
       {std::tuple{Protocol::ll, net, kLlShare}, std::tuple{Protocol::simple, simple, 1.0}}) {
    Candidate x{protocol, latency + extra, share * gbps};
    x.steps = steps;
    x.limit = limit;
    out.push_back(x);
  }
}

void add_direct(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const double n = c.ranks, p = c.per_node;
  if (kind == graph::CollectiveKind::send_recv) {
    const double across = network_of_one_gpu(c, topology::Traffic::ring);
    const bool network = c.nodes > 1 && (p <= 1 || across < link_gbps(c));  // one GPU a node: no link inside takes part
    add(out, c, k.send_base, network ? across : link_gbps(c), 1,
        network ? slower_of_network(c, topology::Traffic::ring) : link_limit(c));
  } else {
    const double inside_bytes = (p - 1) / n, crossing_bytes = (n - p) / n;
    const double inside = inside_bytes > 0 ? link_gbps(c) / inside_bytes : kUnlimitedGbps;
    const double across =
        crossing_bytes > 0 ? network_of_one_gpu(c, topology::Traffic::rooted) / crossing_bytes : kUnlimitedGbps;
    // Without NVLink the messages of the own node and those of the others take one way, the root's PCIe port. With one GPU in
    // each node no link within takes part, and its rate is that of none.
    const bool shared_port = !c.nvlink && c.nodes > 1 && p > 1;
    const double both = shared_port ? link_gbps(c) / (inside_bytes + crossing_bytes) : kUnlimitedGbps;
    add(out, c, k.exchange_base + (n - 1) * k.gather_per_peer, std::min({inside, across, both}),
        static_cast<std::uint32_t>(n) - 1,
        across < std::min(inside, both) ? slower_of_network(c, topology::Traffic::rooted) : link_limit(c));
  }
}

}  // namespace

extern constinit const AlgorithmInfo direct_algorithm =
    checked({.name = "direct",
             .sentence = "Point-to-point messages to or from one rank.",
             .kinds = {graph::CollectiveKind::send_recv, graph::CollectiveKind::gather, graph::CollectiveKind::scatter},
             .add = add_direct});

}  // namespace distsim::collectives
