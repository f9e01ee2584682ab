// How fast nodes can send before uplinks are full: by hand for each pattern and fabric, and laws over many fabrics.
#include "topology/uplinks.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "shipped.hpp"
#include "topology/double_tree.hpp"
#include "topology/shapes/shape.hpp"
#include "topology/topology.hpp"

namespace distsim::topology {
extern const FabricShape rail_optimized_shape, dragonfly_shape;
namespace {

using Ranks = std::vector<std::uint32_t>;

Ranks all_ranks_of(const Topology& t) {
  Ranks all(t.ranks());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

/// 8 NICs of 24 GB/s a node: 192 GB/s.
constexpr double kNode = 192e9;
ClusterSpec narrow_cluster(std::int64_t nodes, std::int64_t nodes_per_leaf, double oversubscription) {
  ClusterSpec s = read_system("dgx_a100_80gb").value();
  s.nodes = nodes;
  s.fabric.shape = &fat_tree_shape;
  s.fabric.nodes_per_leaf = nodes_per_leaf;
  s.fabric.leaves_per_pod = 1000;
  s.fabric.oversubscription = oversubscription;
  return s;
}
GroupFacts facts_of_all(const ClusterSpec& s, Siblings siblings = Siblings::idle) {
  const Topology t = Topology::build(s, 80).value();
  return t.facts(all_ranks_of(t), siblings);
}
double limit_of(const GroupFacts& f, Traffic traffic) {
  return f.uplink_limits[static_cast<std::size_t>(traffic)].value();
}

TEST(Uplinks, TwoLeavesOfFourNodesTwoToOne) {
  // 4 nodes send under 4 x 192 / 2 = 384 GB/s of uplinks.
  const GroupFacts f = facts_of_all(narrow_cluster(8, 4, 2));
  // Of 7 parts that a node sends, 4 go to the other leaf: 4 x 4/7.
  EXPECT_DOUBLE_EQ(limit_of(f, Traffic::all_pairs), 384e9 / (16.0 / 7));
  EXPECT_DOUBLE_EQ(f.network_rate(Traffic::all_pairs).value(), kNode * 7 / 8);
  // One node of the leaf sends out, at 192 GB/s.
  EXPECT_DOUBLE_EQ(limit_of(f, Traffic::ring), 384e9);
  EXPECT_DOUBLE_EQ(f.network_rate(Traffic::ring).value(), kNode);
  // 2-4 and 4-0 in the first tree, 5-3 and 3-7 in the second: as many edges as one inner node has.
  EXPECT_DOUBLE_EQ(limit_of(f, Traffic::tree), 384e9);
  // To the next: 4/7 of the bytes, one of four nodes sends out; to the one after it 2/7 and two; then 1/7 and four.
  EXPECT_DOUBLE_EQ(limit_of(f, Traffic::doubling), 384e9 / (12.0 / 7));
  EXPECT_DOUBLE_EQ(limit_of(f, Traffic::rooted), 384e9 / (4.0 / 7));
}

TEST(Uplinks, LeavesOfFourAndOfEightDiffer) {
  const GroupFacts four = facts_of_all(narrow_cluster(16, 4, 2)), eight = facts_of_all(narrow_cluster(16, 8, 2));
  EXPECT_DOUBLE_EQ(limit_of(four, Traffic::all_pairs), 2 * kNode / (4 * 12.0 / 15));
  EXPECT_DOUBLE_EQ(limit_of(eight, Traffic::all_pairs), 4 * kNode / (8 * 8.0 / 15));
  EXPECT_DOUBLE_EQ(limit_of(four, Traffic::ring), 2 * kNode);
  EXPECT_DOUBLE_EQ(limit_of(eight, Traffic::ring), 4 * kNode);
}

TEST(Uplinks, ThreeLevels) {
  ClusterSpec s = narrow_cluster(16, 2, 1);
  s.fabric.leaves_per_pod = 2;
  s.fabric.spine_oversubscription = 2;  // pods of 4 nodes have 384 GB/s to the core
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 384e9 / (4 * 12.0 / 15));
  s.fabric.oversubscription = 2;  // and half of it where leaves have half; leaves: 192 / (2 x 14/15) = 102.9
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 192e9 / (4 * 12.0 / 15));
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::ring), 192e9);
  s.nodes = 4;  // one pod
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 192e9 / (2 * 2.0 / 3));
}

TEST(Uplinks, RailsHaveUplinksOfTheirOwn) {
  ClusterSpec s = narrow_cluster(8, 4, 2);
  s.fabric.shape = &rail_optimized_shape;
  // All rails together are like a fat tree, as NVLink brings messages to their rail.
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 384e9 / (16.0 / 7));
  // A group on one rail has that rail's uplinks only: 4 x 24 / 2; under a fat tree the other NICs leave it theirs.
  const Ranks rail{3, 11, 19, 27, 35, 43, 51, 59};
  EXPECT_DOUBLE_EQ(limit_of(Topology::build(s, 80)->facts(rail), Traffic::ring), 48e9);
  s.fabric.shape = &fat_tree_shape;
  EXPECT_DOUBLE_EQ(limit_of(Topology::build(s, 80)->facts(rail), Traffic::ring), 384e9);
  EXPECT_DOUBLE_EQ(limit_of(Topology::build(s, 80)->facts(rail, Siblings::active), Traffic::ring), 48e9);
}

TEST(Uplinks, WithoutNvlinkMessagesChangeRailsAtTheSpine) {
  ClusterSpec s = narrow_cluster(4, 4, 2);
  s.fabric.shape = &rail_optimized_shape;
  s.gpu_links = GpuLinks{};
  s.gpu_links.shape = node_shapes()[3];
  ASSERT_EQ(s.gpu_links.shape->name, "pcie");
  // Under one leaf group: of a node's messages to 3 others one in 8 stays on its rail.
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 384e9 / (4 * (3 - 3 / 8.0) / 3));
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::ring), 0);  // rings keep to their rail
}

TEST(Uplinks, DragonflyGroupsReachEachOtherByDetours) {
  ClusterSpec s = narrow_cluster(6, 1, 1);
  s.fabric.shape = &dragonfly_shape;
  s.fabric.leaves_per_pod = 2;
  s.fabric.spine_oversubscription = 2;  // groups of 2 nodes have 192 GB/s of global links, half of it to each other one
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::all_pairs), 192e9 / (2 * 4.0 / 5));
  // Towards the next group: 96 GB/s directly; of the other 96, half goes out by the third group, whose own it takes.
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::ring), 144e9);
  s.nodes = 4;  // two groups: all global links are between them
  EXPECT_DOUBLE_EQ(limit_of(facts_of_all(s), Traffic::ring), 192e9);
}

TEST(Uplinks, GroupsSideBySideShareThem) {
  // Node 0 with 4, 1 with 5, ...: all at once, each has a quarter of a leaf's uplinks.
  const Topology t = Topology::build(narrow_cluster(8, 4, 2), 80).value();
  Ranks pair(16);
  std::iota(pair.begin(), pair.begin() + 8, 0u);
  std::iota(pair.begin() + 8, pair.end(), 32u);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(pair), Traffic::ring), 384e9);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(pair, Siblings::active), Traffic::ring), 96e9);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(pair, Siblings::active), Traffic::all_pairs), 96e9);
}

TEST(Uplinks, OnlyGroupsAtTheEdgeOfALeafLoadItsUplinks) {
  // Groups of 6 nodes side by side, 8 rails each, under leaves of 4 at 8:1: leaf 1 has nodes 4 and 5 of the first group
  // and 6 and 7 of the second, a ring of each goes out, and each has half of 4 x 24 / 8.
  const Topology t = Topology::build(narrow_cluster(12, 4, 8), 80).value();
  Ranks first, second;
  for (std::uint32_t node = 0; node < 6; ++node) first.push_back(node * 8 + 3), second.push_back((node + 6) * 8 + 3);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(first, Siblings::active), Traffic::ring), 6e9);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(second, Siblings::active), Traffic::ring), 6e9);
  // Groups of 4: none leaves its leaf. Of groups of 3 the first does not either; the second shares leaf 1 with the third.
  EXPECT_DOUBLE_EQ(limit_of(t.facts(Ranks{3, 11, 19, 27}, Siblings::active), Traffic::ring), 0);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(Ranks{3, 11, 19}, Siblings::active), Traffic::ring), 0);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(Ranks{27, 35, 43}, Siblings::active), Traffic::ring), 6e9);
  EXPECT_DOUBLE_EQ(limit_of(t.facts(Ranks{27, 35, 43}), Traffic::ring), 96e9);  // alone
}

TEST(Uplinks, ADomainMayBeUnderSeveralLeaves) {
  // Two racks of 18 trays under 9 leaves of 4 trays: leaf 4 has two of each rack, the others four of one. A tray sends
  // to the 18 of the other rack.
  ClusterSpec s = read_system("gb200_nvl72").value();
  s.nodes = 36;
  s.fabric.nodes_per_leaf = 4;
  s.fabric.oversubscription = 3;
  const GroupFacts f = facts_of_all(s);
  ASSERT_EQ(f.nodes, 2u);
  const double tray = f.node_bandwidth.value() / 18;
  EXPECT_NEAR(limit_of(f, Traffic::all_pairs), (4 * tray / 3) / (4.0 / 18), 1);  // leaves 0 to 3 send all they have
  EXPECT_NEAR(f.network_rate(Traffic::all_pairs).value(), f.node_bandwidth.value() / 3, 1);
}

TEST(Uplinks, NoLimitWhereNothingCanFill) {
  for (const Traffic traffic : kTraffic) {
    EXPECT_EQ(limit_of(facts_of_all(narrow_cluster(8, 4, 1)), traffic), 0);
    EXPECT_EQ(limit_of(facts_of_all(narrow_cluster(8, 8, 3)), traffic), 0) << "one leaf";
    EXPECT_EQ(limit_of(facts_of_all(narrow_cluster(1, 1, 3)), traffic), 0) << "one node";
  }
}

TEST(DoubleTree, EveryNodeButTheRootHasAParent) {
  for (std::uint32_t n = 1; n <= 70; ++n) {
    for (std::uint32_t tree : {0u, 1u}) {
      std::uint32_t roots = 0;
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t parent = double_tree_parent(tree, i, n);
        roots += parent == kTreeRoot ? 1 : 0;
        EXPECT_TRUE(parent == kTreeRoot || (parent < n && parent != i));
      }
      EXPECT_EQ(roots, 1u);
    }
  }
}

// Laws.

class EveryUplink : public testing::TestWithParam<const FabricShape*> {
 protected:
  /// Whole jobs, and one GPU of each node beside its siblings.
  static void for_each_group(const std::function<void(const ClusterSpec&, Siblings)>& check) {
    for (const char* system : {"dgx_a100_80gb", "abci_a", "gb200_nvl72", "pcie_rtx6000d"}) {
      ClusterSpec s = read_system(system).value();
      s.fabric.shape = GetParam();
      for (s.nodes = 2; s.nodes <= 44; s.nodes += 7) {
        for (s.fabric.nodes_per_leaf = 1; s.fabric.nodes_per_leaf <= 9; s.fabric.nodes_per_leaf += 4) {
          for (s.fabric.leaves_per_pod = 1; s.fabric.leaves_per_pod <= 3; ++s.fabric.leaves_per_pod) {
            for (const Siblings siblings : {Siblings::idle, Siblings::active}) check(s, siblings);
          }
        }
      }
    }
  }
  static GroupFacts facts_on(const ClusterSpec& s, Siblings siblings) {
    const Topology t = Topology::build(s, 90).value();
    Ranks members;
    for (std::uint32_t r = 0; r < t.ranks(); ++r) {
      if (siblings == Siblings::idle || r % t.gpus_per_node() == 1) members.push_back(r);
    }
    return t.facts(members, siblings);
  }
  static void expect_no_slower(const GroupFacts& better, const GroupFacts& worse, const ClusterSpec& s,
                               const char* what) {
    for (const Traffic traffic : kTraffic) {
      EXPECT_GE(better.network_rate(traffic).value() * (1 + 1e-9), worse.network_rate(traffic).value())
          << what << ": " << s.name << ", " << s.nodes << " nodes, leaves of " << s.fabric.nodes_per_leaf
          << ", pods of " << s.fabric.leaves_per_pod << ", traffic " << static_cast<int>(traffic);
    }
  }
};
std::vector<const FabricShape*> with_uplinks() {
  std::vector<const FabricShape*> out;
  for (const FabricShape* shape : fabric_shapes()) {
    if (shape->uplinks) out.push_back(shape);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryUplink, testing::ValuesIn(with_uplinks()),
                         [](const auto& p) { return std::string(p.param->name); });

TEST_P(EveryUplink, LessOversubscriptionIsNeverSlower) {
  for_each_group([](ClusterSpec s, Siblings siblings) {
    GroupFacts wider = facts_on(s, siblings);
    for (const auto& [leaf, spine] : {std::pair{1.3, 1.0}, {1.3, 1.6}, {4.0, 1.6}, {4.0, 50.0}, {100.0, 50.0}}) {
      s.fabric.oversubscription = leaf;
      s.fabric.spine_oversubscription = spine;
      const GroupFacts narrower = facts_on(s, siblings);
      expect_no_slower(wider, narrower, s, "less oversubscription");
      wider = narrower;
    }
  });
}

TEST_P(EveryUplink, IsContinuousWhereNothingIsOversubscribed) {
  if (GetParam()->direct) return;  // groups that are joined directly can be too narrow at any ratio
  for_each_group([](ClusterSpec s, Siblings siblings) {
    const GroupFacts free = facts_on(s, siblings);
    s.fabric.oversubscription = s.fabric.spine_oversubscription = 1 + 1e-9;
    const GroupFacts barely = facts_on(s, siblings);
    for (const Traffic traffic : kTraffic) {
      EXPECT_NEAR(barely.network_rate(traffic).value() / free.network_rate(traffic).value(), 1, 1e-7)
          << s.name << ", " << s.nodes << " nodes, leaves of " << s.fabric.nodes_per_leaf << ", traffic "
          << static_cast<int>(traffic);
    }
  });
}

TEST_P(EveryUplink, IsNeverBelowTheShareOfOneNode) {
  if (GetParam()->direct) return;
  for_each_group([](ClusterSpec s, Siblings siblings) {
    s.fabric.oversubscription = 3;
    s.fabric.spine_oversubscription = 2;
    const GroupFacts f = facts_on(s, siblings);
    for (const Traffic traffic : kTraffic)
      EXPECT_GE(f.network_rate(traffic).value() * (1 + 1e-9), f.node_bandwidth.value() / 6) << s.name;
  });
}

TEST_P(EveryUplink, LeavesAndPodsThatAreMergedAreNeverSlower) {
  for_each_group([](ClusterSpec s, Siblings siblings) {
    s.fabric.oversubscription = 3;
    s.fabric.spine_oversubscription = 2;
    const GroupFacts small = facts_on(s, siblings);
    ClusterSpec merged = s;
    for (const int factor : {2, 3, 8}) {
      merged.fabric.nodes_per_leaf = s.fabric.nodes_per_leaf * factor;
      expect_no_slower(facts_on(merged, siblings), small, merged, "larger leaves");
    }
    merged.fabric.nodes_per_leaf = s.fabric.nodes_per_leaf;
    merged.fabric.leaves_per_pod *= 2;
    expect_no_slower(facts_on(merged, siblings), small, merged, "larger pods");
  });
}

TEST_P(EveryUplink, FasterNicsBringFasterUplinks) {
  for_each_group([](ClusterSpec s, Siblings siblings) {
    s.fabric.oversubscription = 3;
    const GroupFacts slow = facts_on(s, siblings);
    s.nic.bandwidth = s.nic.bandwidth * 1.5;
    expect_no_slower(facts_on(s, siblings), slow, s, "faster NICs");
  });
}

}  // namespace
}  // namespace distsim::topology
