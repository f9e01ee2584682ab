// NVLSTree: NVLS within nodes, a tree between them; its limits per channel are NCCL's.
#include <algorithm>
#include <bit>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

void add_nvls_tree(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation), scale = static_cast<std::size_t>(std::min(c.nodes, 3u) - 1);
  const std::uint32_t levels = static_cast<std::uint32_t>(std::bit_width(c.nodes)) - 1;
  const double n = c.ranks;
  const double to_algorithm = n / (2 * (n - 1));
  const double heads = c.per_node;
  const double across = std::min(c.inter_gbps * (c.nodes == 2 ? 2.0 : 1.0), uplinks_gbps(c, topology::Traffic::tree));
  const double bus = std::min(across, heads * k.nccl.nvls_tree_per_channel[g][scale]);
  Candidate x{Protocol::simple, k.nccl.nvls_intra + 2 * levels * network_hop_us(c, k.nccl.nvls_tree_net),
              std::min(bus * to_algorithm, nvls_all_reduce_gbps(c))};
  x.steps = 2 + 2 * levels;
  x.ramp_us = ramp_us(c, Protocol::simple);
  x.limit = across <= heads * k.nccl.nvls_tree_per_channel[g][scale] ? network_limit(c, topology::Traffic::tree)
                                                                     : "NVLS channels";
  out.push_back(x);
}

}  // namespace

extern constinit const AlgorithmInfo nvls_tree_algorithm =
    checked({.name = "nvls_tree",
             .sentence = "NVSwitches reduce and multicast within nodes, with a tree between them.",
             .kinds = {graph::CollectiveKind::all_reduce},
             .nccl_names = {"NVLSTree"},
             .traffic = topology::Traffic::tree,
             .applies = [](const Channels& c) { return c.multicast && c.nodes >= 2 && c.per_node >= 3; },
             .add = add_nvls_tree});

}  // namespace distsim::collectives
