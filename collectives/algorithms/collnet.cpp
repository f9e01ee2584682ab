// CollNet (SHARP): each node sends its data into the network once and receives the sum once; the switches add, so that
// an uplink carries the data once, as of a ring.
//   latency: 2 * (hop inside + (per node - 1) * 0.4 us) + one network round through the reducing switches
#include <algorithm>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

/// Up to the reducing switches and down again: two hops of the shortest kind, us.
constexpr double kShortestRoundUs = 1.0;

void add_collnet(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const double inside =
      c.per_node > 1 ? k.nccl.collnet_intra + c.extra_intra_us + (c.per_node - 1) * k.nccl.collnet_per_rank : 0;
  Candidate x{Protocol::simple, 2 * inside + std::max(kShortestRoundUs, k.nccl.collnet_net + c.extra_net_us),
              std::min(k.sharp_share * across_gbps(c, topology::Traffic::ring),
                       c.per_node > 1 ? 0.5 * c.intra_gbps : kUnlimitedGbps)};
  x.steps = 2 * (c.per_node - 1) + 1;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = network_limit(c, topology::Traffic::ring);
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo collnet_algorithm =
    checked({.name = "collnet",
             .sentence = "The network switches reduce, with SHARP.",
             .kinds = {graph::CollectiveKind::all_reduce},
             .nccl_names = {"CollnetDirect", "CollnetChain"},
             .applies = [](const Channels& c) { return c.sharp && c.nodes >= 2; },
             .add = add_collnet});

}  // namespace distsim::collectives
