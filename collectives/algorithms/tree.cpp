// Double binary tree between nodes, chain inside each node: all_reduce goes up and down. Half the data takes each of
// two complementary trees.
//   bandwidth: bus / 2 * NCCL's correction by size;  on two nodes only half of the traffic crosses the network
//   latency:   base + 2 * ((per node - 1) * hop inside + floor(log2 nodes) * network hop)
#include <algorithm>
#include <bit>

#include "collectives/algorithms/algorithm.hpp"

namespace distsim::collectives {

namespace {

// Of the rate that trees reach with Simple, by protocol: NCCL 2.30 tuning.cc.
constexpr double kSimpleOverLl = 3.8, kLl128ShareInNode = 7.0 / 9, kLl128ShareAcross = 120.0 / 128;

/// On two nodes only half of the traffic crosses the network.
double tree_nics(const Channels& c) { return c.inter_gbps * (c.nodes == 2 && c.halves_tree_traffic ? 2.0 : 1.0); }

double tree_bus(const Channels& c, Protocol p) {
  const ModelConstants& k = *c.k;
  const auto g = static_cast<std::size_t>(c.generation), scale = static_cast<std::size_t>(std::min(c.nodes, 3u) - 1);
  const double inside = c.per_node > 1 ? c.intra_gbps : kUnlimitedGbps;
  // Two nodes load uplinks with half of the edges too; their limit counts that.
  const double across =
      c.nodes == 1 ? kUnlimitedGbps : std::min(tree_nics(c), uplinks_gbps(c, topology::Traffic::tree));
  const double bus = std::min({inside, across});
  const double simple = std::min(k.tree_simple_share * bus, c.count * k.nccl.tree_per_channel[g][scale]);
  switch (p) {
    case Protocol::ll:
      return std::min(simple / kSimpleOverLl, k.nccl.ll_max[g][scale]);
    case Protocol::ll128:
      return std::min(simple * (c.nodes == 1 ? kLl128ShareInNode : kLl128ShareAcross),
                      c.count * k.nccl.tree_ll128_per_channel[g][scale]);
    case Protocol::simple:
      return simple;
  }
  return simple;
}

void add_tree(graph::CollectiveKind, const Channels& c, std::vector<Candidate>& out) {
  const ModelConstants& k = *c.k;
  const std::uint32_t levels = static_cast<std::uint32_t>(std::bit_width(c.nodes)) - 1;
  for (Protocol protocol : kProtocols) {
    if (protocol == Protocol::ll128 && !allows_ll128(c)) continue;
    const auto p = static_cast<std::size_t>(protocol);
    const double inside = (c.nvlink ? k.nccl.tree_nvlink : k.nccl.tree_pci)[p] + c.extra_intra_us;
    const double network = network_hop_us(c, k.nccl.tree_net[p]);
    const double share = k.latency_share[static_cast<std::size_t>(c.generation)];
    Candidate x{protocol, share * (k.nccl.tree_base[p] + 2 * (c.per_node - 1) * inside) + 2 * levels * network,
                0.5 * tree_bus(c, protocol)};
    x.correction = &k.nccl.tree_correction[p];
    x.ramp_us = ramp_us(c, protocol);
    x.steps = 2 * (c.per_node - 1 + levels);
    x.limit = slower_link(c, topology::Traffic::tree, c.intra_gbps, tree_nics(c));
    out.push_back(x);
  }
}

}  // namespace

extern constinit const AlgorithmInfo tree_algorithm =
    checked({.name = "tree",
             .sentence = "Up and down a double binary tree of nodes, with a chain within each node.",
             .kinds = {graph::CollectiveKind::all_reduce},
             .nccl_names = {"Tree"},
             .traffic = topology::Traffic::tree,
             .by_slower_link = true,
             .add = add_tree,
             .schedule = {[](graph::CollectiveKind, Grid g, std::int64_t bytes) {
                            return double_tree_all_reduce(g.ranks(), bytes);
                          },
                          [](graph::CollectiveKind, Grid g) { return 2 * (g.ranks() - 1.0); }}});

}  // namespace distsim::collectives
