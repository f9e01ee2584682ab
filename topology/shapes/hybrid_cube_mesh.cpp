// Hybrid cube mesh of DGX-1: two quads of GPUs, corners joined across. No switch: pairs without a direct link forward
// through a third GPU.
//
// V100 (6 links): some edges are double. As printed by `nvidia-smi topo -m` on DGX-1 and p3.16xlarge:
//       0 1 2 3 4 5 6 7        Each row sums to 6. Bisection between the quads {0..3} and {4..7}: 2 + 2 + 1 + 1 = 6
//       links.
//   0   - 1 1 2 2 . . .
//   1   1 - 2 1 . 2 . .
//   2   1 2 - 2 . . 1 .
//   3   2 1 2 - . . . 1
//   4   2 . . . - 1 1 2
//   5   . 2 . . 1 - 2 1
//   6   . . 1 . 1 2 - 2
//   7   . . . 1 2 1 2 -
// P100 (4 links): every edge is single: the quads are fully connected, and GPU i is joined to GPU i + 4.
#include "topology/shapes/mesh.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {

extern const NodeShape hybrid_cube_mesh_shape;

namespace {

constexpr std::uint32_t kQuad[4][4] = {{0, 1, 1, 2}, {1, 0, 2, 1}, {1, 2, 0, 2}, {2, 1, 2, 0}};
constexpr std::uint32_t kAcross[4] = {2, 2, 1, 1};

std::uint32_t links_between(const ClusterSpec& spec, std::uint32_t i, std::uint32_t j) {
  const bool doubled = spec.gpu_links.links_per_gpu == 6;
  if (i / 4 == j / 4) return doubled ? kQuad[i % 4][j % 4] : 1;
  if (i % 4 == j % 4) return doubled ? kAcross[i % 4] : 1;
  return 0;
}

Result<void> check(const ClusterSpec& spec) {
  if (spec.gpus_per_node != 8 && spec.gpus_per_node != 4) {
    return cluster_error("gpus_per_node", std::to_string(spec.gpus_per_node),
                         "8 for hybrid_cube_mesh, or 4 for one of its quads");
  }
  const std::int64_t links = spec.gpu_links.links_per_gpu;
  if (links != 6 && links != 4)
    return cluster_error("gpu_links.links_per_gpu", std::to_string(links), "6 (V100) or 4 (P100) for hybrid_cube_mesh");
  return {};
}

/// All links, or those left in a quad without the ones across.
std::int64_t degree(const ClusterSpec& spec, std::uint32_t gpu) {
  if (spec.gpus_per_node == 8) return spec.gpu_links.links_per_gpu;
  return spec.gpu_links.links_per_gpu == 6 ? 6 - kAcross[gpu] : 3;
}

void connect(const ClusterSpec& spec, NodeGraph& graph) {
  const auto gpus = static_cast<std::uint32_t>(spec.gpus_per_node);
  for (std::uint32_t i = 0; i < gpus; ++i) {
    for (std::uint32_t j = i + 1; j < gpus; ++j) {
      const std::uint32_t count = links_between(spec, i, j);
      if (count == 0) continue;
      graph.connect(graph.find(DeviceKind::gpu, i), graph.find(DeviceKind::gpu, j), LinkKind::nvlink, count,
                    spec.gpu_links.bandwidth_per_link, spec.gpu_links.latency);
    }
  }
}

}  // namespace

extern constinit const NodeShape hybrid_cube_mesh_shape = checked(NodeShape{
    .name = "hybrid_cube_mesh",
    .sentence = "DGX-1: 8 GPUs as two quads with linked corners, by single and double NVLinks without switches.",
    .nvlink = true,
    .check = check,
    .connect = connect,
    .degree = degree,
    .facts =
        [](const ClusterSpec& spec, const NodeGraph& graph, std::span<const std::uint32_t> locals) {
          return mesh_facts(hybrid_cube_mesh_shape, spec, graph, locals);
        },
    .bisection = mesh_bisection});

}  // namespace distsim::topology
