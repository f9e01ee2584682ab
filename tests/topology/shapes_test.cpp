// Degrees, bisections and refusals of each shape against closed forms.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "shipped.hpp"
#include "topology/node_graph.hpp"
#include "topology/shapes/fabric.hpp"
#include "topology/shapes/pcie_tree.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

NodeGraph node_of(const ClusterSpec& spec) {
  NodeGraph graph;
  for (std::uint32_t g = 0; g < spec.gpus_per_node; ++g) graph.add(DeviceKind::gpu, g);
  spec.gpu_links.shape->connect(spec, graph);
  add_pcie_tree(spec, graph);
  return graph;
}

std::uint32_t nvlinks_of(const NodeGraph& graph, DeviceKind kind, std::uint32_t index) {
  std::uint32_t n = 0;
  for (const LinkId l : graph.links_of(graph.find(kind, index))) {
    if (graph.links()[l].kind == LinkKind::nvlink) n += graph.links()[l].count;
  }
  return n;
}

/// Largest flow over NVLinks from the first half of the GPUs to the rest, by Ford-Fulkerson on unit links: an oracle
/// that knows nothing of shapes.
std::uint32_t max_flow_between_halves(const NodeGraph& graph) {
  const std::uint32_t n = static_cast<std::uint32_t>(graph.devices().size()), source = n, sink = n + 1,
                      gpus = graph.count(DeviceKind::gpu);
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> room;
  std::vector<std::vector<std::uint32_t>> next(n + 2);
  const auto join = [&](std::uint32_t a, std::uint32_t b, int ab, int ba) {
    if (!room.contains({a, b})) {
      next[a].push_back(b);
      next[b].push_back(a);
    }
    room[{a, b}] += ab;
    room[{b, a}] += ba;
  };
  for (const NodeLink& l : graph.links()) {
    if (l.kind == LinkKind::nvlink)
      join(l.a.value(), l.b.value(), static_cast<int>(l.count), static_cast<int>(l.count));
  }
  for (std::uint32_t g = 0; g < gpus; ++g) {
    const std::uint32_t gpu = graph.find(DeviceKind::gpu, g).value();
    if (g < gpus / 2)
      join(source, gpu, 1 << 20, 0);
    else
      join(gpu, sink, 1 << 20, 0);
  }
  std::uint32_t flow = 0;
  for (;;) {
    std::vector<std::uint32_t> from(n + 2, ~0u), queue{source};
    from[source] = source;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::uint32_t v : next[queue[i]]) {
        if (from[v] != ~0u || room[{queue[i], v}] <= 0) continue;
        from[v] = queue[i];
        queue.push_back(v);
      }
    }
    if (from[sink] == ~0u) return flow;
    for (std::uint32_t v = sink; v != source; v = from[v]) {
      --room[{from[v], v}];
      ++room[{v, from[v]}];
    }
    ++flow;
  }
}

TEST(NvSwitch, DgxA100IsAStarOfTwelveLinksOverSixSwitches) {
  const NodeGraph g = node_of(read_system("dgx_a100_80gb").value());
  ASSERT_EQ(g.count(DeviceKind::gpu), 8u);
  ASSERT_EQ(g.count(DeviceKind::nvswitch), 6u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::gpu, i), 12u);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::nvswitch, i), 16u);  // 8 GPUs x 2 links
  // 4 GPUs x 12 links x 25 GB/s = 1.2 TB/s per direction.
  EXPECT_DOUBLE_EQ(build_system("dgx_a100_80gb", 1).node_bisection().value(), 1.2e12);
}

TEST(NvSwitch, UnevenLinksSpreadOverH100Switches) {
  const NodeGraph g = node_of(read_system("dgx_h100").value());
  ASSERT_EQ(g.count(DeviceKind::nvswitch), 4u);
  // 18 links over 4 switches: 5 + 5 + 4 + 4; a switch sees 8 GPUs.
  EXPECT_EQ(nvlinks_of(g, DeviceKind::nvswitch, 0), 40u);
  EXPECT_EQ(nvlinks_of(g, DeviceKind::nvswitch, 3), 32u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::gpu, i), 18u);
  EXPECT_DOUBLE_EQ(build_system("dgx_h100", 1).node_bisection().value(), 4 * 450e9);
}

TEST(NvSwitch, Dgx2HasTwoBoardsWithNonBlockingTrunks) {
  const NodeGraph g = node_of(read_system("dgx2_v100_32gb").value());
  ASSERT_EQ(g.count(DeviceKind::nvswitch), 12u);
  for (std::uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(nvlinks_of(g, DeviceKind::nvswitch, i), 16u);  // 8 GPUs + 8 to the twin
  EXPECT_EQ(max_flow_between_halves(g), 48u);                // 6 pairs of switches x 8 links
  EXPECT_DOUBLE_EQ(build_system("dgx2_v100_32gb", 1).node_bisection().value(), 48 * 25e9);
}

TEST(CubeMesh, Dgx1LinksAndBisection) {
  const NodeGraph g = node_of(read_system("dgx1_v100_16gb").value());
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::gpu, i), 6u) << i;
  const auto links = [&g](std::uint32_t a, std::uint32_t b) {
    return g.link_count(g.find(DeviceKind::gpu, a), g.find(DeviceKind::gpu, b), LinkKind::nvlink);
  };
  EXPECT_EQ(links(0, 3), 2u);
  EXPECT_EQ(links(0, 1), 1u);
  EXPECT_EQ(links(0, 4), 2u);
  EXPECT_EQ(links(3, 7), 1u);
  EXPECT_EQ(links(0, 5), 0u);
  // Between the quads: 0-4 and 1-5 double, 2-6 and 3-7 single: 6 links x 25 GB/s.
  EXPECT_DOUBLE_EQ(build_system("dgx1_v100_16gb", 1).node_bisection().value(), 150e9);
}

TEST(CubeMesh, P100HasSingleLinks) {
  const NodeGraph g = node_of(read_system("dgx1_p100").value());
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::gpu, i), 4u) << i;
  EXPECT_DOUBLE_EQ(build_system("dgx1_p100", 1).node_bisection().value(), 4 * 20e9);
}

TEST(FullMesh, TwoLinksToEachPeer) {
  const NodeGraph g = node_of(read_system("abci_v").value());
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(nvlinks_of(g, DeviceKind::gpu, i), 6u);
  EXPECT_DOUBLE_EQ(build_system("abci_v", 1).node_bisection().value(), 2 * 2 * 2 * 25e9);  // 2 x 2 pairs, 2 links each
}

TEST(Installed, UsingFewerGpusKeepsTheWiring) {
  ClusterSpec s = read_system("dgx1_v100_16gb").value();
  s.nodes = 2;
  s.gpus_per_node = 2;  // GPUs 0 and 1 of each node: one NVLink, and the one of four NICs near them
  const Topology t = Topology::build(s, 70).value();
  EXPECT_EQ(t.ranks(), 4u);
  const std::vector<std::uint32_t> pair{0, 1}, all{0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(t.facts(pair).intra_ring_bandwidth.value(), 25e9);
  EXPECT_DOUBLE_EQ(t.facts(all).nics_per_node, 1);
  EXPECT_DOUBLE_EQ(t.facts(all, Siblings::active).nics_per_node, 1);
  EXPECT_EQ(t.route(0, 3).back().to, (Place{1, 1}));

  ClusterSpec mesh = read_system("abci_v").value();
  mesh.gpus_per_node = 2;
  EXPECT_DOUBLE_EQ(Topology::build(mesh, 70)->facts(pair).intra_ring_bandwidth.value(),
                   50e9);  // still two links a pair
  s.gpus_per_node = 9;
  EXPECT_EQ(Topology::build(s, 70).error().what, "cluster.gpus_per_node: found 9, expected at most gpus_installed, 8");
}

TEST(Domain, Nvl72IsOneStarOf72) {
  // 36 GPUs x 900 GB/s.
  EXPECT_DOUBLE_EQ(build_system("gb200_nvl72", 18).node_bisection().value(), 36 * 900e9);
}

TEST(Pcie, BisectionIsTheLinkBetweenSockets) {
  EXPECT_DOUBLE_EQ(build_system("pcie_rtx4090", 1).node_bisection().value(), 16e9);
}

/// Every combination of counts, of the sizes that nodes have, that a shape accepts.
std::vector<ClusterSpec> nodes_of(const NodeShape& shape) {
  std::vector<ClusterSpec> out;
  ClusterSpec s = read_system("dgx_a100_80gb").value();
  s.nodes = 1;
  s.gpus_installed = 0;
  s.gpu_links.shape = &shape;
  for (s.gpus_per_node = 1; s.gpus_per_node <= 16; ++s.gpus_per_node) {
    for (std::int64_t links : {1, 2, 3, 4, 5, 6, 7, 12, 14, 15, 18}) {
      for (std::int64_t switches : {0, 1, 2, 4, 6, 12}) {
        s.gpu_links.links_per_gpu = links;
        s.gpu_links.switches = switches;
        if (shape.check(s).ok() && (shape.switched || switches == 0)) out.push_back(s);
      }
    }
  }
  return out;
}

class EveryShape : public testing::TestWithParam<const NodeShape*> {};
INSTANTIATE_TEST_SUITE_P(Registry, EveryShape, testing::ValuesIn(node_shapes().begin(), node_shapes().end()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EveryShape, AcceptsSomeNodes) { EXPECT_FALSE(nodes_of(*GetParam()).empty()); }

TEST_P(EveryShape, DegreesAreTheClosedForm) {
  for (const ClusterSpec& s : nodes_of(*GetParam())) {
    const NodeGraph graph = node_of(s);
    if (s.gpus_per_node == 1) continue;
    for (std::uint32_t g = 0; g < s.gpus_per_node; ++g) {
      ASSERT_EQ(nvlinks_of(graph, DeviceKind::gpu, g), GetParam()->degree(s, g))
          << s.gpus_per_node << " GPUs, " << s.gpu_links.links_per_gpu << " links, GPU " << g;
      EXPECT_LE(GetParam()->degree(s, g), GetParam()->nvlink ? s.gpu_links.links_per_gpu : 0);
    }
  }
}

TEST_P(EveryShape, IsConnected) {
  for (const ClusterSpec& s : nodes_of(*GetParam())) {
    const NodeGraph graph = node_of(s);
    const auto over = GetParam()->nvlink ? NodeGraph::Over::nvlink : NodeGraph::Over::pcie;
    for (std::uint32_t g = 1; g < s.gpus_per_node; ++g) {
      ASSERT_FALSE(graph.route(graph.find(DeviceKind::gpu, 0), graph.find(DeviceKind::gpu, g), over, 0).empty())
          << s.gpus_per_node << " GPUs, " << s.gpu_links.links_per_gpu << " links, 0 -> " << g;
    }
  }
}

TEST_P(EveryShape, BisectionOfNvlinksEqualsTheMaximumFlow) {
  for (const ClusterSpec& s : nodes_of(*GetParam())) {
    if (!GetParam()->nvlink || s.gpus_per_node == 1) continue;  // others are in Pcie.*
    const NodeGraph graph = node_of(s);
    EXPECT_DOUBLE_EQ(GetParam()->bisection(s, graph).value(),
                     max_flow_between_halves(graph) * s.gpu_links.bandwidth_per_link.value())
        << s.gpus_per_node << " GPUs, " << s.gpu_links.links_per_gpu << " links, " << s.gpu_links.switches
        << " switches";
  }
}

TEST_P(EveryShape, FactsStayWithinTheLinks) {
  for (const ClusterSpec& s : nodes_of(*GetParam())) {
    if (s.gpus_per_node < 2 || s.gpus_per_node > 8) continue;
    const Topology t = Topology::build(s, 80).value();
    const GroupFacts f = t.facts(all_ranks(t));
    std::int64_t links = s.gpu_links.links_per_gpu;
    for (std::uint32_t g = 0; g < s.gpus_per_node; ++g) links = std::min(links, GetParam()->degree(s, g));
    const BytesPerSecond most =
        GetParam()->nvlink ? s.gpu_links.bandwidth_per_link * static_cast<double>(links) : s.pcie.bandwidth;
    EXPECT_GT(f.intra_bandwidth.value(), 0);
    EXPECT_GT(f.intra_ring_bandwidth.value(), 0);
    EXPECT_LE(f.intra_bandwidth, most);
    EXPECT_LE(f.intra_ring_bandwidth, most);
    EXPECT_GT(f.intra_latency, Duration());
    EXPECT_EQ(f.nvlink(), GetParam()->nvlink);
    EXPECT_GT(t.node_bisection().value(), 0);
  }
}

class EveryFabric : public testing::TestWithParam<const FabricShape*> {
 protected:
  static std::vector<ClusterSpec> clusters() {
    std::vector<ClusterSpec> out;
    ClusterSpec s = read_system("dgx_a100_80gb").value();
    s.fabric.shape = GetParam();
    for (s.nodes = 1; s.nodes <= 40; s.nodes += 3) {
      for (std::int64_t nics : {1, 4, 8}) {
        for (std::int64_t nodes_per_leaf : {1, 4, 16}) {
          for (double oversubscription : {1.0, 2.0}) {
            s.nic.count = nics;
            s.fabric.nodes_per_leaf = nodes_per_leaf;
            s.fabric.leaves_per_pod = 3;
            s.fabric.oversubscription = oversubscription;
            if (Topology::build(s, 80).ok()) out.push_back(s);
          }
        }
      }
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Registry, EveryFabric, testing::ValuesIn(fabric_shapes().begin(), fabric_shapes().end()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EveryFabric, NoLeafHasMorePortsThanItCanHave) {
  ASSERT_FALSE(clusters().empty());
  for (const ClusterSpec& s : clusters()) {
    const Fabric fabric(s, static_cast<std::uint32_t>(s.nodes));
    std::map<std::uint32_t, std::uint32_t> used;
    for (std::uint32_t node = 0; node < s.nodes; ++node) {
      for (std::uint32_t nic = 0; nic < s.nic.count; ++nic) ++used[fabric.leaf_of(node, nic)];
    }
    for (const auto& [leaf, ports] : used) {
      ASSERT_LT(leaf, fabric.leaves());
      ASSERT_LE(ports, GetParam()->ports_per_leaf(s)) << s.nodes << " nodes, leaf " << leaf;
    }
  }
}

TEST_P(EveryFabric, JoinsEveryPairOfPorts) {
  for (const ClusterSpec& s : clusters()) {
    const Fabric fabric(s, static_cast<std::uint32_t>(s.nodes));
    for (std::uint32_t node = 1; node < s.nodes; ++node) {
      const Fabric::Port a{{0, 0}, 0, 0}, b{{node, 0}, node, static_cast<std::uint32_t>(s.nic.count) - 1};
      const std::vector<Hop> path = fabric.path(a, b);
      Duration sum;
      for (std::size_t i = 0; i < path.size(); ++i) {
        EXPECT_GT(path[i].bandwidth.value(), 0);
        EXPECT_EQ(path[i].from, i > 0 ? path[i - 1].to : a.place);
        sum += path[i].latency;
      }
      const std::uint32_t switches =
          fabric.switches_between(fabric.leaf_of(a.node, a.nic), fabric.leaf_of(b.node, b.nic));
      EXPECT_EQ(path.size(), switches + 1u);
      EXPECT_EQ(sum, fabric.latency(switches));
    }
  }
}

TEST_P(EveryFabric, BisectionIsThatOfThePortsOverTheOversubscription) {
  for (const ClusterSpec& s : clusters()) {
    const Fabric fabric(s, static_cast<std::uint32_t>(s.nodes));
    const bool one_leaf = fabric.leaf_of(0, 0) == fabric.leaf_of(static_cast<std::uint32_t>(s.nodes) - 1, 0);
    const double ports = static_cast<double>(s.nodes / 2 * s.nic.count) * s.nic.bandwidth.value();
    EXPECT_DOUBLE_EQ(fabric.bisection().value(), one_leaf ? ports : ports / s.fabric.oversubscription);
    EXPECT_TRUE(GetParam()->uplinks || fabric.leaves() == 1);
  }
}

TEST(Fabric, FatTreeBisectionAndOversubscription) {
  ClusterSpec s = read_system("dgx_a100_80gb").value();
  s.fabric.shape = &fat_tree_shape;
  s.fabric.nodes_per_leaf = 4;
  s.fabric.oversubscription = 2;
  s.nodes = 4;
  EXPECT_DOUBLE_EQ(Topology::build(s, 80)->fabric_bisection().value(),
                   2 * 200e9);  // one leaf: oversubscription plays no part
  s.nodes = 16;
  EXPECT_DOUBLE_EQ(Topology::build(s, 80)->fabric_bisection().value(),
                   8 * 200e9 / 2);  // 16 / 2 x 8 ports x 25 GB/s / 2
  s.fabric.oversubscription = 1;
  EXPECT_DOUBLE_EQ(Topology::build(s, 80)->fabric_bisection().value(), 8 * 200e9);
}

TEST(Fabric, RailOptimisedBisection) {
  EXPECT_DOUBLE_EQ(build_system("dgx_h100", 128).fabric_bisection().value(), 64 * 8 * 50e9);
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const auto& s : topology_registry()) EXPECT_TRUE(names.insert(s.name).second) << s.name;
}

}  // namespace
}  // namespace distsim::topology
