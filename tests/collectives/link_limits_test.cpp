#include "collectives/curves/link_limits.hpp"

#include <gtest/gtest.h>

namespace distsim::collectives {
namespace {

/// 300 GB/s a GPU within a node, 200 GB/s a node to the network.
topology::GroupFacts facts_of_nodes(std::uint32_t nodes) {
  topology::GroupFacts f;
  f.nodes = nodes;
  f.ranks = 8 * nodes;
  f.min_per_node = f.max_per_node = 8;
  f.intra_bandwidth = f.intra_ring_bandwidth = BytesPerSecond(300e9);
  f.node_bandwidth = BytesPerSecond(200e9);
  return f;
}

/// One point with that bus bandwidth.
Curve curve_of(graph::CollectiveKind kind, std::uint32_t ranks, double busbw) {
  Curve c;
  c.kind = kind;
  c.ranks = ranks;
  const double bytes = 1 << 30;
  c.points.push_back({bytes, bytes * graph::busbw_factor(kind, ranks) / busbw * 1e6, 0, 0});
  return c;
}

TEST(LinkLimits, WhatLinksAllowIsLetPass) {
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_gather, 8, 290e9), facts_of_nodes(1), "x").ok());
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_gather, 8, 370e9), facts_of_nodes(1), "x").ok());
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_reduce, 8, 480e9), facts_of_nodes(1), "x").ok());  // NVLS
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_reduce, 16, 380e9), facts_of_nodes(2), "x").ok());
}

TEST(LinkLimits, WhatTheyDoNotIsRefusedWithBothRates) {
  const auto refused = check_links(curve_of(graph::CollectiveKind::all_gather, 8, 400e9), facts_of_nodes(1), "a.log");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text().find("a.log: all_gather of 1073741824 B: found a bus bandwidth of 400 GB/s, "
                                        "expected at most 300 GB/s"),
            0u)
      << refused.error().text();
  EXPECT_FALSE(check_links(curve_of(graph::CollectiveKind::all_reduce, 8, 136e12), facts_of_nodes(1), "x").ok());
  EXPECT_FALSE(check_links(curve_of(graph::CollectiveKind::send_recv, 2, 600e9), facts_of_nodes(2), "x").ok());
}

TEST(LinkLimits, UnknownLinksLimitNothing) {
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_gather, 8, 1e15), topology::GroupFacts{}, "x").ok());
}

}  // namespace
}  // namespace distsim::collectives
