// Facts of groups against hand-computed figures.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "shipped.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST(Facts, OneDgxA100) {
  const Topology t = build_system("dgx_a100_80gb", 1);
  const GroupFacts f = t.facts(all_ranks(t));
  EXPECT_EQ(f.ranks, 8u);
  EXPECT_EQ(f.nodes, 1u);
  EXPECT_EQ(f.min_per_node, 8u);
  EXPECT_EQ(f.compute_capability, 80);
  EXPECT_EQ(f.intra, &nvswitch_shape);
  EXPECT_DOUBLE_EQ(f.intra_bandwidth.value(), 300e9);
  EXPECT_DOUBLE_EQ(f.intra_ring_bandwidth.value(), 300e9);
  EXPECT_EQ(f.intra_latency, Duration::nanoseconds(700));
  EXPECT_EQ(f.inter_latency, Duration());
  EXPECT_FALSE(f.multicast);
  EXPECT_EQ(f.bottleneck, "NVLink 25 GB/s x 12");
}

TEST(Facts, FourDgxA100) {
  const Topology t = build_system("dgx_a100_80gb", 4);
  const GroupFacts f = t.facts(all_ranks(t));
  EXPECT_EQ(f.nodes, 4u);
  EXPECT_DOUBLE_EQ(f.nics_per_node, 8);
  EXPECT_DOUBLE_EQ(f.nic_bandwidth.value(), 24e9);  // 200 Gb/s = 25 GB/s, x 0.96
  EXPECT_DOUBLE_EQ(f.node_bandwidth.value(), 192e9);
  EXPECT_EQ(f.inter_latency, Duration::microseconds(2));
  EXPECT_EQ(f.transport, Transport::infiniband);
  EXPECT_TRUE(f.gpu_direct);
  EXPECT_EQ(f.bottleneck, "NIC 25 GB/s x 8");
}

TEST(Facts, CubeMeshRings) {
  const Topology t = build_system("dgx1_v100_16gb", 1);
  const auto ring = [&t](const Ranks& members) { return t.facts(members).intra_ring_bandwidth.value() / 25e9; };
  EXPECT_EQ(ring({0, 1, 2, 3, 4, 5, 6, 7}), 6);  // three cycles both ways use all six links of each GPU
  EXPECT_EQ(ring({0, 1, 2, 3}), 4);              // 9 links: two cycles of 4
  EXPECT_EQ(ring({0, 1}), 1);
  EXPECT_EQ(ring({0, 3}), 2);
  EXPECT_EQ(ring({0, 1, 5}), 1);  // a chain: one walk there and back
  const GroupFacts f = t.facts(Ranks{0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_DOUBLE_EQ(f.intra_bandwidth.value(), 150e9);
  EXPECT_EQ(f.intra_latency, Duration::nanoseconds(1400));  // worst pair forwards once
  EXPECT_EQ(f.bottleneck, "NVLink 25 GB/s x 6");
}

TEST(Facts, CubeMeshCornersWithoutALinkUsePcie) {
  const GroupFacts f = build_system("dgx1_v100_16gb", 1).facts(Ranks{0, 6});
  EXPECT_EQ(f.intra, &pcie_shape);
  EXPECT_DOUBLE_EQ(f.ring_limit().value(), 6e9);
  EXPECT_EQ(f.bottleneck, "CPU interconnect 6 GB/s");
}

TEST(Facts, FullMesh) {
  const Topology t = build_system("abci_v", 1);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 1, 2, 3}).intra_ring_bandwidth.value(), 150e9);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 2}).intra_ring_bandwidth.value(), 50e9);
}

TEST(Facts, PcieSharesUplinksAndSockets) {
  const Topology t = build_system("pcie_rtx6000d", 1);  // pairs on switches, 52 GB/s links, 22 GB/s between sockets
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 1}).intra_bandwidth.value(), 52e9);
  // 0..3, one socket: each pair sends 2 x 2/3 of its traffic up one link: 52 / (4/3) = 39.
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 1, 2, 3}).intra_bandwidth.value(), 39e9);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 1, 2, 3}).intra_ring_bandwidth.value(), 52e9);
  // All eight: 4 GPUs a socket send 4/7 across: 22 / (16/7) = 9.625.
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t)).intra_bandwidth.value(), 9.625e9);
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t)).intra_ring_bandwidth.value(), 52e9);
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t)).ring_limit().value(), 22e9);
}

TEST(Facts, NicsByAffinity) {
  const Topology t = build_system("abci_a", 4);  // 8 GPUs, 4 NICs, one beside each pair
  const GroupFacts rail = t.facts(Ranks{0, 8, 16, 24});
  EXPECT_EQ(rail.max_per_node, 1u);
  EXPECT_EQ(rail.intra, nullptr);
  EXPECT_DOUBLE_EQ(rail.nics_per_node, 1);
  EXPECT_DOUBLE_EQ(rail.node_bandwidth.value(), 24e9);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 8, 16, 24}, Siblings::active).nics_per_node,
                   0.5);  // GPU 1's rail uses the same NIC
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 1, 8, 9}).nics_per_node, 1);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{0, 2, 8, 10}).nics_per_node, 2);
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t)).nics_per_node, 4);
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t), Siblings::active).nics_per_node, 4);
}

TEST(Facts, OneGpuCannotFeedMoreThanItsPcieLink) {
  const Topology t = build_system("p5_h100", 2);  // 4 ports of 12.5 GB/s beside each GPU, x 0.94
  const GroupFacts f = t.facts(Ranks{0, 8});
  EXPECT_DOUBLE_EQ(f.nics_per_node, 4);
  EXPECT_DOUBLE_EQ(f.node_bandwidth.value(), 47e9);
  ClusterSpec s = t.spec();
  s.pcie.bandwidth = BytesPerSecond(26e9);
  EXPECT_DOUBLE_EQ(Topology::build(s, 90)->facts(Ranks{0, 8}).node_bandwidth.value(), 26e9);
}

TEST(Facts, OneNicPerNodeServesAllGpus) {
  const Topology t = build_system("v100_sxm2_16gb_8x_1edr", 4);
  EXPECT_DOUBLE_EQ(t.facts(all_ranks(t)).node_bandwidth.value(), 12e9);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{7, 15}).nics_per_node, 1);
  EXPECT_DOUBLE_EQ(t.facts(Ranks{7, 15}, Siblings::active).nics_per_node, 0.125);
}

TEST(Facts, OnlyBusyGpusShareAdapters) {
  const Topology t = build_system("abci_a", 4);  // 8 GPUs, 4 NICs, one beside each pair
  const auto beside = [&](const Ranks& busy) { return t.facts(Ranks{0, 8}, Siblings::active, {}, busy); };
  EXPECT_DOUBLE_EQ(beside({0, 1, 8, 9}).nics_per_node, 0.5);
  EXPECT_DOUBLE_EQ(beside({0, 8, 9}).nics_per_node, 0.5) << "the weaker node counts";
  EXPECT_DOUBLE_EQ(beside({0, 2, 8, 10}).nics_per_node, 1) << "another NIC";
  EXPECT_TRUE(beside({0, 2, 8, 10}).beside_others);
  EXPECT_DOUBLE_EQ(beside({0, 8, 16, 24}).nics_per_node, 1) << "other nodes";
  EXPECT_FALSE(beside({0, 8, 16, 24}).beside_others);
  EXPECT_EQ(beside(all_ranks(t)), beside({}));
}

TEST(Facts, UnevenNodesCountTheSmallest) {
  const Topology t = build_system("dgx_a100_80gb", 2);
  const GroupFacts f = t.facts(Ranks{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(f.min_per_node, 2u);
  EXPECT_EQ(f.max_per_node, 8u);
  EXPECT_DOUBLE_EQ(f.nics_per_node, 2);
  EXPECT_DOUBLE_EQ(f.node_bandwidth.value(), 48e9);
}

TEST(Facts, OversubscriptionCountsOnlyAcrossLeaves) {
  ClusterSpec s = read_system("dgx_a100_80gb").value();
  s.nodes = 8;
  s.fabric.shape = &fat_tree_shape;
  s.fabric.nodes_per_leaf = 4;
  s.fabric.oversubscription = 3;
  const Topology t = Topology::build(s, 80).value();
  Ranks leaf(32), both(64);
  std::iota(leaf.begin(), leaf.end(), 0u);
  std::iota(both.begin(), both.end(), 0u);
  EXPECT_DOUBLE_EQ(t.facts(leaf).node_bandwidth.value(), 192e9);
  EXPECT_EQ(t.facts(leaf).inter_latency, Duration::nanoseconds(2000));
  EXPECT_DOUBLE_EQ(t.facts(both).node_bandwidth.value(), 192e9);  // of the NICs
  EXPECT_DOUBLE_EQ(t.facts(leaf).network_rate(Traffic::all_pairs).value(), 192e9);
  EXPECT_DOUBLE_EQ(t.facts(both).network_rate(Traffic::all_pairs).value(), 192e9 * 7 / 12);
  EXPECT_EQ(t.facts(both).inter_latency, Duration::nanoseconds(2600));  // leaf, spine, leaf
  EXPECT_EQ(t.facts(both).bottleneck, "NIC 25 GB/s x 8, leaf uplinks oversubscribed 3:1");
}

TEST(Facts, Nvl72CountsDomains) {
  const Topology t = build_system("gb200_nvl72", 36);
  Ranks rack(72);
  std::iota(rack.begin(), rack.end(), 0u);
  const GroupFacts one = t.facts(rack);
  EXPECT_EQ(one.nodes, 1u);
  EXPECT_EQ(one.max_per_node, 72u);
  EXPECT_DOUBLE_EQ(one.intra_bandwidth.value(), 900e9);
  EXPECT_TRUE(one.multicast);
  const GroupFacts two = t.facts(all_ranks(t));
  EXPECT_EQ(two.nodes, 2u);
  EXPECT_DOUBLE_EQ(two.nics_per_node, 72);
  EXPECT_DOUBLE_EQ(two.node_bandwidth.value(), 72 * 48e9);
}

TEST(Facts, AJobOfSeveralDomainsIsPlacedInEqualBlocks) {
  const Topology even = build_system("gb200_nvl72", 32), uneven = build_system("gb200_nvl72", 37);
  Ranks block(64);
  std::iota(block.begin(), block.end(), 64u);
  EXPECT_EQ(even.facts(block).nodes, 1u) << "trays 16 to 31";
  EXPECT_EQ(uneven.facts(block).nodes, 2u) << "tray 18 is in the second domain";
  EXPECT_EQ(uneven.facts(all_ranks(uneven)).nodes, 3u);
}

TEST(Facts, DomainsHaveNearlyAsManyNodesEach) {
  for (std::uint32_t nodes = 1; nodes <= 40; ++nodes) {
    for (std::uint32_t of_domain = 1; of_domain <= 40; ++of_domain) {
      const NvlinkDomains domains(nodes, of_domain);
      EXPECT_EQ(domains.count(), (nodes + of_domain - 1) / of_domain);
      EXPECT_LE(domains.largest(), of_domain);
      std::uint32_t node = 0;
      for (std::uint32_t d = 0; d < domains.count(); ++d) {
        EXPECT_EQ(domains.first_node(d), node);
        EXPECT_GE(domains.nodes_of(d) + 1, domains.largest());
        for (std::uint32_t i = 0; i < domains.nodes_of(d); ++i) EXPECT_EQ(domains.of_node(node++), d);
      }
      EXPECT_EQ(node, nodes);
    }
  }
  EXPECT_EQ(NvlinkDomains(19, 18).text(), "2 NVLink domains of 10 and 9 nodes");
  EXPECT_EQ(NvlinkDomains(32, 18).text(), "2 NVLink domains of 16 nodes");
}

TEST(Facts, AJobInUnequalPartsOfDomainsKnowsThem) {
  const Topology t = build_system("gb200_nvl72", 19);
  const GroupFacts all = t.facts(all_ranks(t));
  EXPECT_EQ(all.nodes, 2u);
  EXPECT_EQ(all.max_per_node, 40u);
  EXPECT_EQ(all.min_per_node, 36u);
  Ranks second(36);
  std::iota(second.begin(), second.end(), 40u);
  EXPECT_EQ(t.facts(second).nodes, 1u);
  EXPECT_FALSE(t.facts(second, Siblings::active).beside_others) << "nothing else of the job is in its domain";
  EXPECT_TRUE(t.facts(Ranks{40, 44}, Siblings::active).beside_others);
  EXPECT_EQ(t.route(36, 40).size(), t.route(36, 72).size()) << "between domains";
  EXPECT_EQ(t.route(40, 75).size(), 2u) << "over the switches of the second one";
}

TEST(Facts, OneRank) {
  const GroupFacts f = build_system("dgx_a100_80gb", 4).facts(Ranks{9});
  EXPECT_EQ(f.ranks, 1u);
  EXPECT_EQ(f.intra, nullptr);
  EXPECT_EQ(f.bottleneck, "none");
}

TEST(Facts, KeysAreEqualForAlikeGroupsOnly) {
  const Topology t = build_system("dgx_a100_80gb", 4);
  EXPECT_EQ(t.facts(Ranks{0, 8}).key(), t.facts(Ranks{3, 27}).key());
  EXPECT_NE(t.facts(Ranks{0, 8}).key(), t.facts(Ranks{0, 1}).key());
  EXPECT_NE(t.facts(Ranks{0, 8}).key(), t.facts(Ranks{0, 8, 16}).key());
  const Topology a = build_system("abci_a", 4);
  EXPECT_NE(a.facts(Ranks{0, 8}).key(), a.facts(Ranks{0, 8}, Siblings::active).key());
}

TEST(Facts, MoreMembersNeverHaveFewerNics) {
  for (const std::string& name : shipped("systems")) {
    if (read_system(name)->nic.count == 0) continue;
    const Topology t = build_system(name, 2);
    double before = 0;
    for (std::uint32_t n = 1; n <= t.gpus_per_node(); ++n) {
      Ranks members;
      for (std::uint32_t g = 0; g < n; ++g) members.push_back(g);
      const GroupFacts f = t.facts(members);
      EXPECT_GE(f.nics_per_node, before) << name << " " << n;
      EXPECT_GT(f.node_bandwidth.value(), 0) << name;
      before = f.nics_per_node;
    }
    EXPECT_DOUBLE_EQ(before, static_cast<double>(t.spec().nic.count)) << name << ": a whole node uses all its ports";
  }
}

TEST(Facts, LargeClustersStayCheap) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const Topology t = build_system("dgx_a100_80gb", 12'500);
  const Ranks members = all_ranks(t);
  const auto built = Clock::now();
  const GroupFacts f = t.facts(members);
  const auto done = Clock::now();
  EXPECT_EQ(f.ranks, 100'000u);
  EXPECT_EQ(f.nodes, 12'500u);
  EXPECT_EQ(f.inter_latency, Duration::nanoseconds(2000 + 4 * 300));
  using Us = std::chrono::duration<double, std::micro>;
  RecordProperty("read_and_build_us", std::to_string(Us(built - start).count()));
  std::printf("read, build and list ranks %.0f us, facts of 100,000 members %.0f us\n", Us(built - start).count(),
              Us(done - built).count());
  EXPECT_EQ(t.dump().size(), build_system("dgx_a100_80gb", 12'500).dump().size());
}

TEST(Dump, IsTheSameOnEveryRunAndNamesTheLevels) {
  const std::string dump = build_system("dgx_a100_80gb", 40).dump();
  EXPECT_EQ(dump, build_system("dgx_a100_80gb", 40).dump());
  EXPECT_NE(dump.find("dgx_a100_80gb: 40 nodes x 8 a100_sxm4_80gb"), std::string::npos) << dump;
  EXPECT_NE(dump.find("GPU 0 - NVSwitch 0: NVLink x2, 50 GB/s per direction"), std::string::npos) << dump;
  EXPECT_NE(dump.find("fabric: rail_optimized, 16 leaves"), std::string::npos) << dump;
}

}  // namespace
}  // namespace distsim::topology
