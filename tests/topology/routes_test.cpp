// Routes: for every shipped system every pair of GPUs of three nodes is joined by a chain of real hops, the same both
// ways.
#include <gtest/gtest.h>

#include <set>

#include "shipped.hpp"

namespace distsim::topology {
namespace {

double width(const std::vector<Hop>& hops) {
  double w = 1e300;
  for (const Hop& h : hops) w = std::min(w, h.bandwidth.value());
  return w;
}

Duration latency(const std::vector<Hop>& hops) {
  Duration sum;
  for (const Hop& h : hops) sum += h.latency;
  return sum;
}

std::size_t hops_over(const std::vector<Hop>& hops, LinkKind kind) {
  return static_cast<std::size_t>(
      std::count_if(hops.begin(), hops.end(), [kind](const Hop& h) { return h.kind == kind; }));
}

std::int64_t nodes_to_try(const std::string& name) {
  const ClusterSpec s = read_system(name).value();
  return s.nic.count == 0 ? 1 : s.gpu_links.domain_nodes + 2;
}

std::vector<std::string> systems_with_a_network() {
  std::vector<std::string> names = shipped("systems");
  std::erase_if(names, [](const std::string& n) { return nodes_to_try(n) == 1; });
  return names;
}

class Routes : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shipped, Routes, testing::ValuesIn(shipped("systems")), [](const auto& p) { return p.param; });

TEST_P(Routes, EveryPairIsJoinedBothWaysAlike) {
  const Topology t = build_system(GetParam(), nodes_to_try(GetParam()));
  for (std::uint32_t a = 0; a < t.ranks(); ++a) {
    for (std::uint32_t b = 0; b < t.ranks(); ++b) {
      const auto there = t.route(a, b);
      if (a == b) {
        EXPECT_TRUE(there.empty());
        continue;
      }
      ASSERT_FALSE(there.empty()) << a << " " << b;
      // GPU g is device g of its node.
      EXPECT_EQ(there.front().from, (Place{t.node_of(a), a % t.gpus_per_node()}));
      EXPECT_EQ(there.back().to, (Place{t.node_of(b), b % t.gpus_per_node()}));
      std::set<std::pair<std::uint32_t, std::uint32_t>> visited{{there.front().from.node, there.front().from.local}};
      for (std::size_t i = 0; i < there.size(); ++i) {
        EXPECT_EQ(there[i].from, i == 0 ? there.front().from : there[i - 1].to);
        EXPECT_GT(there[i].bandwidth.value(), 0);
        EXPECT_TRUE(visited.insert({there[i].to.node, there[i].to.local}).second) << "a loop from " << a << " to " << b;
      }
      const auto back = t.route(b, a);
      EXPECT_EQ(there.size(), back.size());
      EXPECT_DOUBLE_EQ(width(there), width(back));
      EXPECT_EQ(latency(there), latency(back));
    }
  }
}

class NetworkRoutes : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shipped, NetworkRoutes, testing::ValuesIn(systems_with_a_network()),
                         [](const auto& p) { return p.param; });

TEST_P(NetworkRoutes, WorstLatencyIsTheOneInTheFacts) {
  const Topology t = build_system(GetParam(), nodes_to_try(GetParam()));
  Duration worst;
  for (std::uint32_t a = 0; a < t.ranks(); ++a) {
    for (std::uint32_t b = 0; b < t.ranks(); ++b) {
      Duration network;
      for (const Hop& h : t.route(a, b)) {
        if (h.kind == LinkKind::network) network += h.latency;
      }
      worst = std::max(worst, network);
    }
  }
  EXPECT_EQ(t.facts(all_ranks(t)).inter_latency, worst);
}

TEST(Route, NvSwitchIsTwoHopsAtTheFullRateOfAGpu) {
  const Topology t = build_system("dgx_a100_80gb", 1);
  const auto r = t.route(0, 1);  // also two hops over their PCIe switch; NVLink is wider
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].kind, LinkKind::nvlink);
  EXPECT_DOUBLE_EQ(width(r), 300e9);
  EXPECT_EQ(latency(r), Duration::nanoseconds(700));
}

TEST(Route, Dgx2CrossesBoardsOverTheTrunk) {
  const Topology t = build_system("dgx2_v100_32gb", 1);
  EXPECT_EQ(t.route(0, 7).size(), 2u);
  const auto r = t.route(0, 8);
  ASSERT_EQ(r.size(), 3u);
  EXPECT_DOUBLE_EQ(r[1].bandwidth.value(), 48 * 25e9);
  EXPECT_DOUBLE_EQ(width(r), 150e9);
}

TEST(Route, CubeMeshForwardsThroughTheWiderNeighbour) {
  const Topology t = build_system("dgx1_v100_16gb", 1);
  EXPECT_EQ(t.route(0, 3).size(), 1u);
  EXPECT_DOUBLE_EQ(width(t.route(0, 3)), 50e9);
  EXPECT_DOUBLE_EQ(width(t.route(0, 1)), 25e9);
  // 0 to 7: through 3 (2 links, then 1) or through 4 (2, then 2); 4 is wider.
  const auto r = t.route(0, 7);
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].to.local, 4u);
  EXPECT_DOUBLE_EQ(width(r), 50e9);
}

TEST(Route, PcieThroughSwitchSocketOrBoth) {
  ClusterSpec s = read_system("pcie_rtx6000d").value();  // 8 GPUs in pairs on switches, 2 sockets
  s.nodes = 1;
  const Topology t = Topology::build(s, 120).value();
  EXPECT_EQ(t.route(0, 1).size(), 2u);  // GPU, switch, GPU
  EXPECT_EQ(t.route(0, 2).size(), 4u);  // GPU, switch, CPU, switch, GPU
  EXPECT_EQ(t.route(0, 4).size(), 5u);  // the other socket too
  EXPECT_DOUBLE_EQ(width(t.route(0, 1)), 52e9);
  EXPECT_DOUBLE_EQ(width(t.route(0, 4)), 22e9);
  s.pcie.peer_to_peer = false;
  const Topology staged = Topology::build(s, 120).value();
  const auto r = staged.route(0, 1);  // up to the CPU and down again
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(r[1].to, r[2].from);
  EXPECT_EQ(staged.route(0, 4).size(), 5u);
}

TEST(Route, SameRailStaysOnOneLeaf) {
  const Topology t = build_system("dgx_a100_80gb", 20);
  const auto same = t.route(3, 8 + 3);  // GPU, switch, NIC, leaf, NIC, switch, GPU
  EXPECT_EQ(same.size(), 6u);
  EXPECT_EQ(hops_over(same, LinkKind::network), 2u);
  EXPECT_DOUBLE_EQ(width(same), 25e9);
  // Another rail: over NVLink to the GPU of that rail first, then the same.
  const auto other = t.route(3, 8 + 5);
  EXPECT_EQ(hops_over(other, LinkKind::nvlink), 2u);
  EXPECT_EQ(hops_over(other, LinkKind::network), 2u);
}

TEST(Route, FurtherLeavesAndPodsAddSwitches) {
  const Topology t = build_system("dgx_a100_80gb", 300);  // leaves of 20 nodes, pods of 7 groups = 140 nodes
  EXPECT_EQ(hops_over(t.route(0, 19 * 8), LinkKind::network), 2u);
  EXPECT_EQ(hops_over(t.route(0, 20 * 8), LinkKind::network), 4u);
  EXPECT_EQ(hops_over(t.route(0, 139 * 8), LinkKind::network), 4u);
  EXPECT_EQ(hops_over(t.route(0, 140 * 8), LinkKind::network), 6u);
}

TEST(Route, Nvl72CrossesTraysOverNvlinkAndRacksOverTheNetwork) {
  const Topology t = build_system("gb200_nvl72", 36);
  const auto inside = t.route(0, 71);
  ASSERT_EQ(inside.size(), 2u);
  EXPECT_EQ(inside[0].to.node, 0u);
  EXPECT_DOUBLE_EQ(width(inside), 900e9);
  EXPECT_EQ(hops_over(t.route(0, 72), LinkKind::network), 4u - 2u);
  EXPECT_EQ(t.route(40, 41)[0].to, inside[0].to);  // the domain's switches are one place for all its trays
}

}  // namespace
}  // namespace distsim::topology
