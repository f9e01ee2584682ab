#include "topology/shapes/mesh.hpp"

#include <algorithm>

#include "topology/shapes/pcie_tree.hpp"

namespace distsim::topology {

LinkMatrix nvlinks_among(const NodeGraph& graph, std::span<const std::uint32_t> locals) {
  LinkMatrix links(static_cast<std::uint32_t>(locals.size()));
  for (std::uint32_t i = 0; i < locals.size(); ++i) {
    for (std::uint32_t j = i + 1; j < locals.size(); ++j) {
      links.set(i, j,
                graph.link_count(graph.find(DeviceKind::gpu, locals[i]), graph.find(DeviceKind::gpu, locals[j]),
                                 LinkKind::nvlink));
    }
  }
  return links;
}

IntraFacts cube_mesh_facts(const ClusterSpec& spec, const NodeGraph& graph, std::span<const std::uint32_t> locals) {
  const LinkMatrix links = nvlinks_among(graph, locals);
  const std::uint32_t tree = tree_walk_width(links);
  if (tree == 0) return pcie_facts(spec, locals);
  std::uint32_t least = links.degree(0);
  bool direct = true;  // every pair has a link of its own
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    least = std::min(least, links.degree(i));
    for (std::uint32_t j = 0; j < links.size(); ++j) direct = direct && (i == j || links.at(i, j) > 0);
  }
  const BytesPerSecond each = spec.gpu_links.bandwidth_per_link;
  const std::uint32_t rings = std::max(ring_count(links), tree);
  return {IntraNode::hybrid_cube_mesh, each * least, each * rings, spec.gpu_links.latency * (direct ? 1 : 2)};
}

BytesPerSecond mesh_bisection(const ClusterSpec& spec, const NodeGraph& graph) {
  const auto gpus = static_cast<std::uint32_t>(spec.gpus_per_node);
  double sum = 0;
  for (const NodeLink& l : graph.links()) {
    if (l.kind != LinkKind::nvlink) continue;
    const bool a_first = graph.devices()[l.a].index < gpus / 2, b_first = graph.devices()[l.b].index < gpus / 2;
    if (a_first != b_first) sum += l.bandwidth.value();
  }
  return BytesPerSecond(sum);
}

}  // namespace distsim::topology
