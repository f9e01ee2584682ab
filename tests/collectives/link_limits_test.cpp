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
  topology::GroupFacts with_nvls = facts_of_nodes(1);
  with_nvls.multicast = true;
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_gather, 8, 290e9), facts_of_nodes(1), "x").ok());
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_gather, 8, 370e9), facts_of_nodes(1), "x").ok());
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_reduce, 8, 480e9), with_nvls, "x").ok());
  EXPECT_TRUE(check_links(curve_of(graph::CollectiveKind::all_reduce, 16, 290e9), facts_of_nodes(2), "x").ok());
}

/// Without switches that reduce, what is summed up crosses the links of a GPU twice, and those of a node nearly twice.
TEST(LinkLimits, ReductionsInFlightNeedSwitchesThatDoThem) {
  const auto all_reduce = graph::CollectiveKind::all_reduce;
  topology::GroupFacts one = facts_of_nodes(1), four = facts_of_nodes(4);
  EXPECT_EQ(highest_busbw(all_reduce, one), 300e9);
  one.multicast = four.multicast = true;
  EXPECT_EQ(highest_busbw(all_reduce, one), 600e9);
  four.transport = topology::Transport::efa;
  EXPECT_DOUBLE_EQ(highest_busbw(all_reduce, four), 200e9 * 31 / 32 / 0.75);
  four.sharp = true;
  EXPECT_DOUBLE_EQ(highest_busbw(all_reduce, four), 2 * 200e9 * 31 / 32);
  EXPECT_EQ(highest_busbw(graph::CollectiveKind::broadcast, four), 200e9);
}

/// NCCL goes over the network inside a node where each GPU has a NIC that is faster than what joins the CPUs.
TEST(LinkLimits, ANicForEachGpuIsALinkWithinANode) {
  topology::GroupFacts pcie = facts_of_nodes(1);
  pcie.intra_bandwidth = pcie.intra_ring_bandwidth = BytesPerSecond(22e9);
  pcie.node_bandwidth = BytesPerSecond(8 * 46e9);
  pcie.nics_per_node = 8;
  pcie.gpu_direct = true;
  EXPECT_DOUBLE_EQ(highest_busbw(graph::CollectiveKind::all_gather, pcie), 46e9);
  pcie.nics_per_node = 4;
  EXPECT_DOUBLE_EQ(highest_busbw(graph::CollectiveKind::all_gather, pcie), 22e9);
  pcie.nics_per_node = 8;
  pcie.gpu_direct = false;
  EXPECT_DOUBLE_EQ(highest_busbw(graph::CollectiveKind::all_gather, pcie), 22e9);
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

/// Milliseconds where microseconds are meant are a thousand times what the model says, at every size; a few such sizes are named.
TEST(LinkLimits, TimesFarAboveTheModelAreNamed) {
  topology::GroupFacts f = facts_of_nodes(4);
  f.intra_latency = Duration::nanoseconds(2000);
  const AnalyticModel model(graph::CollectiveKind::all_reduce, f, {});
  Curve c;
  c.ranks = 32;
  const auto with_times = [&](double first, double second) {
    c.points = {{1024, first * model.time_us(1024), 0, 0}, {1 << 20, second * model.time_us(1 << 20), 0, 0}};
    return far_above_model(c, f, shipped_constants(), "x");
  };
  EXPECT_EQ(with_times(1, 50).value(), "");
  EXPECT_EQ(with_times(1, 1000).value().find("x: all_reduce of 1048576 B: found "), 0u);
  ASSERT_FALSE(with_times(1000, 1000).ok());
  EXPECT_NE(with_times(1000, 1000).error().text().find("expected microseconds"), std::string::npos);
}

}  // namespace
}  // namespace distsim::collectives
