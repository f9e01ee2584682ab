// Ring. all_reduce sends each of n chunks 2(n-1) times around, all_gather and reduce_scatter n-1 times, broadcast and
// reduce pipeline through n ranks.
//   bandwidth: bus * n / steps, bus = the slower of the rings inside a node and the NICs of a node
//   latency:   base + steps between nodes * network hop + the others * hop inside a node
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace distsim::collectives {

namespace {

bool is_pipelined(graph::CollectiveKind kind) {
  return kind == graph::CollectiveKind::broadcast || kind == graph::CollectiveKind::reduce;
}

std::uint32_t ring_steps(graph::CollectiveKind kind, std::uint32_t n) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
      return 2 * (n - 1);
    case graph::CollectiveKind::all_gather:
    case graph::CollectiveKind::reduce_scatter:
      return n - 1;
    case graph::CollectiveKind::broadcast:
    case graph::CollectiveKind::reduce:
      return n;
    default:
      return 0;  // not a ring collective
  }
}

double ring_bus(const Channels& c, Protocol p) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation), scale = static_cast<std::size_t>(std::min(c.nodes, 3u) - 1);
  const double inside = c.per_node > 1 ? c.intra_gbps : c.inter_gbps;
  const double bus = c.nodes == 1 ? inside : std::min(inside, c.inter_gbps);
  switch (p) {
    case Protocol::ll:
      return std::min(k.nccl.ll_max[g][scale], 0.5 * bus);
    case Protocol::ll128:
      return std::min(0.92 * bus, c.count * k.nccl.ring_ll128_per_channel[g][scale]);
    case Protocol::simple:
      return std::min((c.nvlink ? k.ring_simple_share[g] : k.ring_net_share) * inside,
                      c.nodes > 1 ? k.ring_net_share * c.inter_gbps : 1e9);
  }
  return bus;
}

/// A broadcast's root leaves when its own part is sent and its successors follow in a pipeline, so one hop is seen, not
/// n.
double ring_latency(graph::CollectiveKind kind, const Channels& c, std::size_t p, std::uint32_t steps) {
  const ModelConstants& k = *c.k;
  const double inside = (c.nvlink ? k.nccl.ring_nvlink : k.nccl.ring_pci)[p] + c.extra_intra_us;
  const double share = k.latency_share[static_cast<std::size_t>(c.generation)];
  const double overhead = c.nodes > 1 ? k.nccl.net_overhead * (p == 2 ? 3 : 1) : 0;
  if (is_pipelined(kind)) return share * (k.nccl.ring_base[p] * k.pipelined_base_share + inside);
  const std::uint32_t rounds = kind == graph::CollectiveKind::all_reduce ? 2 : 1;
  const double network = std::max(0.5, (c.per_node == 1 ? k.nccl.tree_net : k.nccl.ring_net)[p] + c.extra_net_us);
  const double crossings = c.nodes == 1 ? 0 : rounds * (c.nodes - 1.0);
  return share * (k.nccl.ring_base[p] + (steps - crossings) * std::max(inside, overhead)) + crossings * network;
}

}  // namespace

void add_ring(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const std::uint32_t steps = ring_steps(kind, c.ranks);
  if (steps == 0) return;
  for (Protocol protocol : kProtocols) {
    if (protocol == Protocol::ll128 && !allows_ll128(c)) continue;
    const auto p = static_cast<std::size_t>(protocol);
    Candidate x{Algorithm::ring, protocol, ring_latency(kind, c, p, steps), ring_bus(c, protocol) * c.ranks / steps};
    x.steps = steps;
    x.ramp_us = ramp_us(c, protocol);
    if (is_pipelined(kind) && c.nodes > 1) {
      x.ramp_us = 0;
      x.fill_us = k.fill_per_node[p] * c.nodes;
      x.fill_gbps = k.fill_gbps[p] * c.count;
    }
    x.limit = c.nodes > 1 && c.inter_gbps < c.intra_gbps ? "network" : "links within the node";
    out.push_back(x);
  }
}

}  // namespace distsim::collectives
