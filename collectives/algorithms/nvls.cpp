// NVLS: NVSwitches reduce what they read and multicast what they write, so a GPU moves S(1 + 1/n) bytes per direction
// for an all_reduce of S instead of 2S(n-1)/n.
#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

void add_nvls(graph::CollectiveKind kind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  Candidate x{Protocol::simple, k.nccl.nvls_intra, nvls_all_reduce_gbps(c)};
  if (kind != graph::CollectiveKind::all_reduce)
    x.gbps = c.intra_gbps * k.nvls_half_share;  // the receiver's links carry all of the result
  x.steps = 2;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = "NVSwitch";
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo nvls_algorithm =
    checked({.name = "nvls",
             .sentence = "Within a node, NVSwitches reduce and multicast.",
             .kinds = {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,
                       graph::CollectiveKind::reduce_scatter},
             .nccl_names = {"NVLS"},
             .applies = [](const Channels& c) { return c.multicast && c.nodes == 1 && c.ranks >= 3; },
             .add = add_nvls});

}  // namespace distsim::collectives
