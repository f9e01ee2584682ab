// CollNet (SHARP): each node sends its data into the network once and receives the sum once; the switches add.
//   latency: 2 * (hop inside + (per node - 1) * 0.4 us) + one network round through the reducing switches
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace distsim::collectives {

void add_collnet(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  if (!c.sharp || c.nodes < 2 || kind != graph::CollectiveKind::all_reduce) return;
  const double inside =
      c.per_node > 1 ? k.nccl.collnet_intra + c.extra_intra_us + (c.per_node - 1) * k.nccl.collnet_per_rank : 0;
  Candidate x{Algorithm::collnet, Protocol::simple, 2 * inside + std::max(1.0, k.nccl.collnet_net + c.extra_net_us),
              std::min(k.sharp_share * c.inter_gbps, c.per_node > 1 ? 0.5 * c.intra_gbps : 1e9)};
  x.steps = 2 * (c.per_node - 1) + 1;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = "network";
  out.push_back(x);
}

}  // namespace distsim::collectives
