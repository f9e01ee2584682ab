// Full mesh: every GPU has the same number of NVLinks to each other GPU of the node (4 x V100 of ABCI, 4 x GH200 of
// Alps). No switch.
//
// Among m of n GPUs with k links a pair: one GPU sends k (m - 1) links' worth; the complete digraph on m vertices
// splits into m - 1 directed rings for every m but 4 and 6 (Tillson 1980), where one ring less fits for odd k.
// Bisection: floor(n / 2) ceil(n / 2) k links.
#include "topology/shapes/mesh.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {

extern const NodeShape full_mesh_shape;

namespace {

std::int64_t links_per_pair(const ClusterSpec& spec) {
  return spec.gpus_per_node > 1 ? spec.gpu_links.links_per_gpu / (spec.gpus_per_node - 1) : 0;
}

Result<void> check(const ClusterSpec& spec) {
  if (spec.gpus_per_node > 64)
    return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node), "at most 64 for full_mesh");
  if (spec.gpus_per_node == 1) return {};
  const std::int64_t peers = spec.gpus_per_node - 1;
  if (spec.gpu_links.links_per_gpu % peers != 0 || spec.gpu_links.links_per_gpu == 0) {
    return cluster_error(
        "gpu_links.links_per_gpu", std::to_string(spec.gpu_links.links_per_gpu),
        "a multiple of " + std::to_string(peers) + ", the number of other GPUs in a node, for full_mesh");
  }
  return {};
}

void connect(const ClusterSpec& spec, NodeGraph& graph) {
  const auto gpus = static_cast<std::uint32_t>(spec.gpus_per_node);
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = i + 1; j < gpus; ++j) {
      graph.connect(graph.find(DeviceKind::gpu, i), graph.find(DeviceKind::gpu, j), LinkKind::nvlink,
                    static_cast<std::uint32_t>(links_per_pair(spec)), spec.gpu_links.bandwidth_per_link,
                    spec.gpu_links.latency);
    }
  }
}

IntraFacts facts(const ClusterSpec& spec, const NodeGraph&, std::span<const std::uint32_t> locals) {
  const auto m = static_cast<std::int64_t>(locals.size());
  const std::int64_t out = links_per_pair(spec) * (m - 1);
  const bool one_less = (m == 4 || m == 6) && links_per_pair(spec) % 2 == 1;
  const BytesPerSecond each = spec.gpu_links.bandwidth_per_link;
  return {&full_mesh_shape, each * static_cast<double>(out), each * static_cast<double>(one_less ? out - 1 : out),
          spec.gpu_links.latency};
}

}  // namespace

extern constinit const NodeShape full_mesh_shape = checked(
    NodeShape{.name = "full_mesh",
              .sentence = "Every GPU has dedicated NVLinks to every other GPU of the node.",
              .nvlink = true,
              .check = check,
              .connect = connect,
              .degree = [](const ClusterSpec& s, std::uint32_t) { return links_per_pair(s) * (s.gpus_per_node - 1); },
              .facts = facts,
              .bisection = mesh_bisection});

}  // namespace distsim::topology
