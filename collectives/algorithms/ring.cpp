// Ring. all_reduce sends each of n chunks 2(n-1) times around, all_gather and reduce_scatter n-1 times, broadcast and
// reduce pipeline through n ranks.
//   bandwidth: bus * n / steps, bus = the slowest of the rings inside a node, the NICs of a node and the uplinks
//              of the fabric, which a ring crosses once per leaf and direction
//   latency:   base + steps between nodes * network hop + the others * hop inside a node
#include <algorithm>

#include "base/check.hpp"
#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

/// Of the bus that rings reach with LL128, whose 128-byte lines hold 8 bytes of flag, by NCCL 2.30 tuning.cc.
constexpr double kLl128Share = 0.92;

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
      CHECK(false) << graph::name_of(kind) << " is no collective of rings";
      return 0;
  }
}

/// Of what the links of a node carry, with Simple.
double inside_share(const Channels& c) {
  return c.nvlink ? c.k->ring_simple_share[static_cast<std::size_t>(c.generation)] : c.k->ring_net_share;
}

double ring_bus(const Channels& c, Protocol p) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation), scale = static_cast<std::size_t>(std::min(c.nodes, 3u) - 1);
  const double across = across_gbps(c, topology::Traffic::ring);
  const double inside = c.per_node > 1 ? c.intra_gbps : across;
  const double bus = c.nodes == 1 ? inside : std::min(inside, across);
  switch (p) {
    case Protocol::ll:
      return std::min(k.nccl.ll_max[g][scale], kLlShare * bus);
    case Protocol::ll128:
      return std::min(kLl128Share * bus, c.count * k.nccl.ring_ll128_per_channel[g][scale]);
    case Protocol::simple:
      return std::min(inside_share(c) * inside, c.nodes > 1 ? k.ring_net_share * across : kUnlimitedGbps);
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
  const double network = network_hop_us(c, (c.per_node == 1 ? k.nccl.tree_net : k.nccl.ring_net)[p]);
  const double crossings = c.nodes == 1 ? 0 : rounds * (c.nodes - 1.0);
  return share * (k.nccl.ring_base[p] + (steps - crossings) * std::max(inside, overhead)) + crossings * network;
}

void add_ring(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const std::uint32_t steps = ring_steps(kind, c.ranks);
  for (Protocol protocol : kProtocols) {
    if (protocol == Protocol::ll128 && !allows_ll128(c)) continue;
    const auto p = static_cast<std::size_t>(protocol);
    Candidate x{protocol, ring_latency(kind, c, p, steps), ring_bus(c, protocol) * c.ranks / steps};
    x.steps = steps;
    x.ramp_us = ramp_us(c, protocol);
    if (is_pipelined(kind) && c.nodes > 1) {
      x.ramp_us = 0;
      x.fill_us = k.fill_per_node[p] * c.nodes;
      x.fill_gbps = k.fill_gbps[p] * c.count;
    }
    // Of what links carry, rings reach different parts within a node and across with Simple.
    const double inside =
        protocol == Protocol::simple ? inside_share(c) / k.ring_net_share * c.intra_gbps : c.intra_gbps;
    x.limit = slower_link(c, topology::Traffic::ring, inside, c.inter_gbps);
    out.push_back(x);
  }
}

std::vector<Transfer> transfers(graph::CollectiveKind kind, Grid grid, std::int64_t bytes) {
  switch (kind) {
    case graph::CollectiveKind::all_reduce:
      return ring_all_reduce(grid.ranks(), bytes);
    case graph::CollectiveKind::all_gather:
      return ring_all_gather(grid.ranks(), bytes);
    case graph::CollectiveKind::reduce_scatter:
      return ring_reduce_scatter(grid.ranks(), bytes);
    default:
      return ring_chain(grid.ranks(), bytes, kind == graph::CollectiveKind::reduce);
  }
}

/// Every chunk crosses every link of the ring but one; of an all_reduce twice.
double ring_traffic(graph::CollectiveKind kind, Grid grid) {
  return (kind == graph::CollectiveKind::all_reduce ? 2 : 1) * (grid.ranks() - 1.0);
}

}  // namespace

extern constinit const AlgorithmInfo ring_algorithm = checked(
    {.name = "ring",
     .sentence = "Chunks circulate in rings over all ranks.",
     .kinds = {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,
               graph::CollectiveKind::reduce_scatter, graph::CollectiveKind::broadcast, graph::CollectiveKind::reduce},
     .nccl_names = {"Ring"},
     .traffic = topology::Traffic::ring,
     .by_slower_link = true,
     .add = add_ring,
     .schedule = {transfers, ring_traffic}});

}  // namespace distsim::collectives
