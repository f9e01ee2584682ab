// Closed forms against simulated times of ASTRA-sim 2, analytical congestion-unaware back end (our own runs, March
// 2026): one collective of 64 MB over a switch of 25 GB/s and 500 ns a hop, 4 splits, 1 active, endpoint delay 10 ns,
// local memory 1600 GB/s; printed to the microsecond.
#include "collectives/alpha_beta.hpp"

#include <gtest/gtest.h>

namespace distsim::collectives {
namespace {

using Algorithm = AlphaBetaAlgorithm;
constexpr std::int64_t kSize = 64 << 20;

topology::DimensionNetwork network(const std::string& lists) {
  auto parsed = topology::parse_dimension_network(lists, "network.yml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *parsed;
}
topology::DimensionNetwork one_switch(int n) {
  return network("topology: [ Switch ]\nnpus_count: [ " + std::to_string(n) +
                 " ]\nbandwidth: [ 25.0 ]\nlatency: [ 500.0 ]\n");
}
AlphaBetaOptions options(Algorithm a = Algorithm::ring) {
  AlphaBetaOptions o;
  o.all_reduce = {a};
  o.splits = 4;
  o.endpoint_delay = 10;
  o.memory_bytes_per_ns = 1600;
  return o;
}
graph::Collective collective_of(graph::CollectiveKind kind, std::int64_t bytes = kSize) {
  return {kind, bytes, graph::DType::fp32, {}, {}};
}
double ms(const graph::Collective& op, const topology::DimensionNetwork& n, const AlphaBetaOptions& o) {
  const auto t = alpha_beta_time(op, n, o);
  EXPECT_TRUE(t.ok()) << t.error().text();
  return t->ms();
}

struct Logged {
  Algorithm algorithm;
  int npus;
  double ms;
};

TEST(AlphaBeta, AllReduceOverASwitch) {
  for (const Logged& r : {Logged{Algorithm::ring, 8, 4.542},
                          {Algorithm::ring, 64, 5.554},
                          {Algorithm::ring, 512, 9.239},
                          {Algorithm::ring, 1024, 13.381},
                          {Algorithm::ring, 4096, 38.165},
                          {Algorithm::direct, 8, 0.649},
                          {Algorithm::direct, 64, 0.088},
                          {Algorithm::direct, 512, 0.018},
                          {Algorithm::direct, 1024, 0.013},
                          {Algorithm::double_binary_tree, 8, 13.775},
                          {Algorithm::double_binary_tree, 64, 29.555},
                          {Algorithm::double_binary_tree, 512, 45.334},
                          {Algorithm::double_binary_tree, 1024, 50.593},
                          {Algorithm::halving_doubling, 8, 4.446},
                          {Algorithm::halving_doubling, 64, 5.031},
                          {Algorithm::halving_doubling, 512, 5.126},
                          {Algorithm::halving_doubling, 1024, 5.139},
                          {Algorithm::halving_doubling, 4096, 5.159}}) {
    EXPECT_NEAR(ms(collective_of(graph::CollectiveKind::all_reduce), one_switch(r.npus), options(r.algorithm)), r.ms,
                0.00051)
        << r.npus << " " << r.ms;
  }
}

TEST(AlphaBeta, RingAllReduceToTheNanosecond) {
  // m = 64 MiB / 4 / 8 = 2097152 B; B = 26.8435456 B/ns: m/B = 78125; s = 79125. r = 3 floor(2097152/1600) = 3930.
  // 4 (14 s + 7 r + 15 x 10) = 4 (1107750 + 27510 + 150) = 4541640 ns.
  EXPECT_EQ(*alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce), one_switch(8), options()),
            Duration::nanoseconds(4'541'640));
}

TEST(AlphaBeta, ActiveChunksDivideTheTime) {
  // 64 splits: 64 active take a 64th of 1 active.
  AlphaBetaOptions o = options();
  o.splits = 64;
  const double one = ms(collective_of(graph::CollectiveKind::all_reduce), one_switch(8), o);
  o.active = 64;
  EXPECT_NEAR(ms(collective_of(graph::CollectiveKind::all_reduce), one_switch(8), o) * 64, one, 1e-9);
  EXPECT_NEAR(one, 5.389, 0.0006);
}

TEST(AlphaBeta, AllToAllDirectAndRing) {
  for (const Logged& r : {Logged{Algorithm::direct, 8, 0.317},
                          {Algorithm::direct, 64, 0.043},
                          {Algorithm::direct, 512, 0.009},
                          {Algorithm::direct, 1024, 0.007},
                          {Algorithm::ring, 64, 86.890},
                          {Algorithm::ring, 128, 191.561},
                          {Algorithm::ring, 256, 450.563}}) {
    AlphaBetaOptions o = options();
    o.all_to_all = {r.algorithm};
    EXPECT_NEAR(ms(collective_of(graph::CollectiveKind::all_to_all), one_switch(r.npus), o), r.ms, 0.00051)
        << r.npus << " " << r.ms;
  }
}

TEST(AlphaBeta, TwoDimensions) {
  for (const auto& [outer, expected] : {std::pair{8, 0.962}, {32, 1.984}, {128, 5.846}}) {
    const topology::DimensionNetwork n =
        network("topology: [ Switch, Switch ]\nnpus_count: [ 8, " + std::to_string(outer) +
                " ]\nbandwidth: [ 400, 25 ]\nlatency: [ 900, 2500 ]\n");
    EXPECT_NEAR(ms(collective_of(graph::CollectiveKind::all_reduce), n, options()), expected, 0.00051) << outer;
  }
}

TEST(AlphaBeta, OneHopOnRingsAndFullyConnected) {
  // Ring all-reduce of 8 B x 8 ranks, no delays: 14 x floor(500 + ~0) = 14 x 500 ns; over a switch each step has two
  // hops: 14 x 1000.
  AlphaBetaOptions o;
  const std::string rest = "npus_count: [ 8 ]\nbandwidth: [ 25 ]\nlatency: [ 500 ]\n";
  EXPECT_EQ(
      *alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce, 64), network("topology: [ Ring ]\n" + rest), o),
      Duration::nanoseconds(7'000));
  EXPECT_EQ(*alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce, 64),
                             network("topology: [ FullyConnected ]\n" + rest), o),
            Duration::nanoseconds(7'000));
  EXPECT_EQ(*alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce, 64),
                             network("topology: [ Switch ]\n" + rest), o),
            Duration::nanoseconds(14'000));
  // Direct on a ring of 8: the farthest partner is 4 hops away; two steps.
  o.all_reduce = {Algorithm::direct};
  EXPECT_EQ(
      *alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce, 64), network("topology: [ Ring ]\n" + rest), o),
      Duration::nanoseconds(4'000));
}

TEST(AlphaBeta, ScatterAndGatherMakeAnAllReduce) {
  // No delays: reduce-scatter and all-gather of the same vector take as long as the all-reduce.
  AlphaBetaOptions o;
  o.memory_bytes_per_ns = 16;  // reductions take a good part
  const topology::DimensionNetwork n = one_switch(16);
  for (const Algorithm a : {Algorithm::ring, Algorithm::direct, Algorithm::halving_doubling}) {
    o.all_reduce = o.reduce_scatter = o.all_gather = {a};
    const double gather = ms(collective_of(graph::CollectiveKind::all_gather), n, o);
    const double scatter = ms(collective_of(graph::CollectiveKind::reduce_scatter), n, o);
    EXPECT_NEAR(scatter + gather, ms(collective_of(graph::CollectiveKind::all_reduce), n, o), 1e-9)
        << static_cast<int>(a);
    EXPECT_GT(scatter, gather) << "it reduces";
  }
}

TEST(AlphaBeta, RefusesWhatAstraSimHangsOn) {
  EXPECT_EQ(alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce), one_switch(6),
                            options(Algorithm::halving_doubling))
                .error()
                .what,
            "network.npus_count: found 6, expected a power of two for halving-doubling and double binary trees");
  EXPECT_FALSE(alpha_beta_time(collective_of(graph::CollectiveKind::all_reduce, -1), one_switch(8), options()).ok());
}

TEST(AlphaBeta, AlgorithmNames) {
  EXPECT_EQ(*parse_alpha_beta_algorithm("oneHalvingDoubling"), Algorithm::halving_doubling);
  EXPECT_EQ(*parse_alpha_beta_algorithm("direct4"), Algorithm::direct);
  EXPECT_FALSE(parse_alpha_beta_algorithm("rnig").ok());
}

TEST(DimensionNetwork, GroupsAreGrids) {
  const topology::DimensionNetwork n =
      network("topology: [ Ring, Switch ]\nnpus_count: [ 4, 3 ]\nbandwidth: [ 400, 25 ]\nlatency: [ 1, 2 ]\n");
  EXPECT_EQ(n.ranks(), 12u);
  const std::vector<std::uint32_t> row{4, 5, 6, 7}, column{1, 5, 9}, corner{0, 1, 5};
  EXPECT_EQ(n.of_group(row)->describe(), "Ring 4");
  EXPECT_EQ(n.of_group(column)->describe(), "Switch 3");
  EXPECT_FALSE(n.of_group(corner).ok());
  // A message from 0 to 11 = (3, 2): one hop the short way round the ring, two through the switch: 1 + 4 ns, and its
  // bytes at 25 GB/s.
  EXPECT_EQ(alpha_beta_message(26843545, n, 0, 11), Duration::nanoseconds(5 + 999'999));
}

TEST(DimensionNetwork, Refusals) {
  const auto refused = [](const std::string& text) {
    const auto n = topology::parse_dimension_network(text, "n.yml");
    return n ? "accepted" : n.error().text();
  };
  EXPECT_NE(
      refused("topology: [ Rign ]\nnpus_count: [ 8 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n").find("did you mean 'Ring'?"),
      std::string::npos);
  EXPECT_NE(refused("topology: [ Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n")
                .find("lists of equal length"),
            std::string::npos);
  EXPECT_NE(refused("topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n").find("npus_count"),
            std::string::npos);
  EXPECT_NE(
      refused(
          "topology: [ Ring, Ring, Ring ]\nnpus_count: [ 1024, 1024, 1024 ]\nbandwidth: [ 1, 1, 1 ]\nlatency: [ 1, 1, 1 ]\n")
          .find("2^24"),
      std::string::npos);
  EXPECT_NE(refused("topology: [ Ring ]\n").find("npus_count"), std::string::npos);
}

}  // namespace
}  // namespace distsim::collectives
