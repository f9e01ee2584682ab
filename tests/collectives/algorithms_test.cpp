// The NCCL model against figures worked out by hand from its formulas.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "collective_fixture.hpp"
#include "collectives/algorithms/algorithm.hpp"
#include "collectives/pricer.hpp"

namespace distsim::collectives {
namespace {

const Candidate& pick(const std::vector<Candidate>& all, std::string_view a, Protocol p) {
  for (const Candidate& c : all) {
    if (c.algorithm->name == a && c.protocol == p) return c;
  }
  ADD_FAILURE() << "no candidate " << a << " " << name_of(p);
  return all.front();
}

/// Only NCCL's own figures: what was fitted on sweeps is neutral, so that the numbers below can be worked out from
/// NCCL's tables.
const ModelConstants& plain() {
  static const ModelConstants constants = [] {
    ModelConstants c = shipped_constants();
    c.latency_share = {1, 1, 1, 1, 1};
    c.ramp_ll = c.ramp_bulk = {30, 40, 40, 40};
    c.ramp_hops = {1, 1, 1};
    c.ring_simple_share = {0.98, 0.98, 0.98, 0.98};
    c.ring_net_share = 0.98;
    c.exchange_net_share = 0.92;
    c.nvls_share = {0, 0, 0.686, 0.604};
    return c;
  }();
  return constants;
}

Channels channels(std::uint32_t nodes) {
  const topology::Topology t = a100_cluster(nodes);
  return channels_of(t.facts(first_ranks(8 * nodes)), plain());
}

TEST(Ring, AllReduceClosedFormInOneNode) {
  // 8 ranks: 2 * 7 = 14 steps. LL: base 6.6 us + 14 * 0.6 us = 15.0 us.
  // Simple: links 12 * 25 * 0.8 = 240 GB/s, of which rings reach 0.98: bus 235.2; algorithm bandwidth 235.2 * 8 / 14 =
  // 134.4 GB/s.
  const auto all = candidates_for(graph::CollectiveKind::all_reduce, channels(1));
  EXPECT_NEAR(pick(all, "ring", Protocol::ll).latency_us, 15.0, 1e-9);
  const Candidate& simple = pick(all, "ring", Protocol::simple);
  EXPECT_EQ(simple.steps, 14u);
  EXPECT_NEAR(simple.gbps, 134.4, 1e-9);
  EXPECT_NEAR(simple.latency_us, 8.4 + 14 * 3.4, 1e-9);
  // A very long message: 2(n-1)/n * S / bus, with n = 8 and S = 1.344e12: 1e7 us on the wire; the rest is latency and
  // the ramp, together below 200 us.
  EXPECT_NEAR(time_us(simple, 1.344e12), 1e7, 200);
}

TEST(Ring, AllGatherIsHalfOfAnAllReduce) {
  const Channels c = channels(1);
  const auto ar = candidates_for(graph::CollectiveKind::all_reduce, c),
             ag = candidates_for(graph::CollectiveKind::all_gather, c);
  EXPECT_NEAR(pick(ag, "ring", Protocol::simple).gbps, 2 * pick(ar, "ring", Protocol::simple).gbps, 1e-9);
  EXPECT_EQ(pick(ag, "ring", Protocol::simple).steps, 7u);
}

TEST(Ring, NodesAreCrossedTwicePerNodeLessOne) {
  // 4 nodes of 8: 62 steps, 2 * 3 of them between nodes. LL inside: max(0.6, network overhead 1.0) = 1.0; between: 2.7
  // + (2.0 us wire - 2.0 reference, but one switch more or less changes the wire, so take the facts' own latency).
  const topology::Topology t = a100_cluster(4);
  const topology::GroupFacts facts = t.facts(first_ranks(32));
  const auto all = candidates_for(graph::CollectiveKind::all_reduce, channels_of(facts, plain()));
  const double between = 2.7 + facts.inter_latency.us() - 2.0;
  EXPECT_NEAR(pick(all, "ring", Protocol::ll).latency_us, 6.6 + 56 * 1.0 + 6 * between, 1e-9);
  // NICs: 8 * 25 * 0.96 = 192 GB/s, below the 240 GB/s inside, so they bound the bus: 0.98 * 192 * 32 / 62.
  EXPECT_NEAR(pick(all, "ring", Protocol::simple).gbps, 0.98 * 192 * 32 / 62, 1e-6);
}

TEST(Tree, LatencyGrowsWithTheLogarithmOfNodes) {
  // 16 nodes: 2 * (7 hops inside * 0.6 + 4 levels * (5.0 + wire - 2.0)) + 6.8.
  const topology::Topology t = a100_cluster(16);
  const topology::GroupFacts facts = t.facts(first_ranks(128));
  const auto all = candidates_for(graph::CollectiveKind::all_reduce, channels_of(facts, plain()));
  EXPECT_NEAR(pick(all, "tree", Protocol::ll).latency_us,
              6.8 + 2 * (7 * 0.6 + 4 * (5.0 + facts.inter_latency.us() - 2.0)), 1e-9);
}

TEST(Exchange, ThePartThatCrossesDecides) {
  // 4 nodes of 8: 24/32 of each rank's bytes cross the network at its share of the NICs, 24 GB/s * 0.92: 22.08 / 0.75
  // = 29.44 GB/s of the buffer.
  const auto all = candidates_for(graph::CollectiveKind::all_to_all, channels(4));
  EXPECT_NEAR(pick(all, "exchange", Protocol::simple).gbps, 0.92 * 24 / 0.75, 1e-6);
  EXPECT_EQ(pick(all, "exchange", Protocol::simple).limit, "network");
}

TEST(Nvls, OnlyWhereSwitchesReduce) {
  Channels c = channels(1);
  for (const Candidate& x : candidates_for(graph::CollectiveKind::all_reduce, c)) EXPECT_NE(x.algorithm->name, "nvls");
  c.generation = 2;
  c.multicast = true;
  c.intra_nominal_gbps = 450;
  // 0.686 * 450 / (1 + 1/8) = 274.4 GB/s: busbw 480 as measured on H100.
  EXPECT_NEAR(pick(candidates_for(graph::CollectiveKind::all_reduce, c), "nvls", Protocol::simple).gbps, 274.4, 0.01);
}

TEST(Launch, OneProcessIsAFloorThatOverlaps) {
  // 8 GPUs * 4.6 us = 36.8 us. Where the GPUs need 1 ms the floor adds less than 1 ns: (1 + 0.0368^4)^(1/4) - 1
  // = 4.6e-7.
  const topology::Topology t = a100_cluster(1);
  const AnalyticModel model(graph::CollectiveKind::all_reduce, t.facts(first_ranks(8)), {true, false});
  EXPECT_NEAR(model.launch_us(), 36.8, 1e-9);
  EXPECT_NEAR(model.with_launch(1000), 1000.0004586, 1e-6);
  EXPECT_NEAR(model.with_launch(0.001), 36.8, 1e-6);
  EXPECT_EQ(AnalyticModel(graph::CollectiveKind::all_reduce, t.facts(first_ranks(8)), {true, true}).launch_us(), 0)
      << "a CUDA graph is replayed";
}

/// However slow: no rate below which it would not matter.
TEST(Channels, ASlowerLinkIsSlower) {
  topology::GroupFacts facts = a100_cluster(2).facts(first_ranks(16));
  const auto times = [&] {
    const Channels c = channels_of(facts, plain());
    return std::array{1 / c.inter_gbps, 1 / c.pairs_gbps, 1 / c.intra_gbps};
  };
  auto before = times();
  for (int i = 0; i < 10; ++i) {
    facts.node_bandwidth = BytesPerSecond(facts.node_bandwidth.value() / 10);
    facts.pairs_bandwidth = BytesPerSecond(facts.pairs_bandwidth.value() / 10);
    facts.intra_ring_bandwidth = BytesPerSecond(facts.intra_ring_bandwidth.value() / 10);
    const auto after = times();
    EXPECT_NEAR(after[0], 10 * before[0], 1e-6 * after[0]) << i;
    EXPECT_NEAR(after[1], before[1] * 10, 1e-6 * after[1]) << i;
    EXPECT_NEAR(after[2], before[2] * 10, 1e-6 * after[2]) << i;
    before = after;
  }
}

/// On two nodes only half of what a tree carries crosses the network: faster NICs change nothing, and it is not named.
TEST(Channels, ATreeIsLimitedByTheLinkThatItWaitsFor) {
  topology::GroupFacts facts = a100_cluster(2).facts(first_ranks(16));
  const auto tree = [&] {
    return pick(candidates_for(graph::CollectiveKind::all_reduce, channels_of(facts, plain())), "tree",
                Protocol::simple);
  };
  const Candidate before = tree();
  facts.node_bandwidth = BytesPerSecond(2 * facts.node_bandwidth.value());
  EXPECT_EQ(tree().gbps, before.gbps);
  EXPECT_EQ(before.limit, "links within the node");
  facts.node_bandwidth = BytesPerSecond(facts.node_bandwidth.value() / 8);
  EXPECT_LT(tree().gbps, before.gbps);
  EXPECT_EQ(tree().limit, "network");
}

/// GPUs that reach their NICs faster than each other send over these within a node too: what limits them is the network.
TEST(Channels, TrafficWithinANodeThatTakesTheNicsIsLimitedByTheNetwork) {
  topology::GroupFacts facts = a100_cluster(1).facts(first_ranks(8));
  facts.intra = nullptr;  // no NVLink
  facts.intra_bandwidth = facts.intra_ring_bandwidth = BytesPerSecond(10e9);
  facts.node_bandwidth = BytesPerSecond(8 * 25e9);
  facts.nics_per_node = 8;
  facts.gpu_direct = true;
  ASSERT_TRUE(channels_of(facts, plain()).through_nics);
  for (const graph::CollectiveKind kind : {graph::CollectiveKind::all_reduce, graph::CollectiveKind::all_gather,
                                           graph::CollectiveKind::all_to_all, graph::CollectiveKind::broadcast}) {
    for (const Candidate& c : candidates_for(kind, channels_of(facts, plain()))) {
      EXPECT_EQ(c.limit, "network") << graph::name_of(kind) << " " << c.algorithm->name;
    }
  }
  topology::GroupFacts faster = facts;
  faster.node_bandwidth = BytesPerSecond(2 * facts.node_bandwidth.value());
  for (const graph::CollectiveKind kind : {graph::CollectiveKind::send_recv, graph::CollectiveKind::gather}) {
    const auto now = candidates_for(kind, channels_of(facts, plain())),
               then = candidates_for(kind, channels_of(faster, plain()));
    for (std::size_t i = 0; i < now.size(); ++i)
      EXPECT_EQ(now[i].limit == "network", then[i].gbps > now[i].gbps) << graph::name_of(kind);
  }
}

}  // namespace
}  // namespace distsim::collectives
