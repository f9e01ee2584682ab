// PAT (parallel aggregated trees, since NCCL 2.23): all_gather and reduce_scatter in a logarithmic number of steps, one
// GPU a node.
//   bandwidth: 3/4 of the bus;  latency: base + floor(log2 nodes) * network hop / 3.5 + 2.8 us a rank (NCCL 2.30
//   tuning.cc)
#include <bit>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

void add_pat(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const std::uint32_t levels = static_cast<std::uint32_t>(std::bit_width(c.nodes)) - 1;
  const double network = network_hop_us(c, k.nccl.pat_net);
  Candidate x{Protocol::simple,
              k.nccl.pat_base + levels * network / k.nccl.pat_pipelining + c.ranks * k.nccl.pat_per_rank,
              k.nccl.pat_share * across_gbps(c, topology::Traffic::doubling)};
  x.steps = levels;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = network_limit(c, topology::Traffic::doubling);
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo pat_algorithm =
    checked({.name = "pat",
             .sentence = "With one GPU per node, parallel aggregated trees: a logarithmic number of steps.",
             .kinds = {graph::CollectiveKind::all_gather, graph::CollectiveKind::reduce_scatter},
             .nccl_names = {"PAT"},
             .traffic = topology::Traffic::doubling,
             .applies = [](const Channels& c) { return c.per_node == 1 && c.nodes >= 2; },
             .add = add_pat});

}  // namespace distsim::collectives
