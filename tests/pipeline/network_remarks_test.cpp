// What a report says of a network that is capped, or whose settings change nothing.
#include "sim/pipeline/network_remarks.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

struct Said {
  double iteration_ms = 0, low_ms = 0, high_ms = 0;
  std::vector<std::string> lines;
};
Said said_of(const std::string& config, const std::vector<std::string>& sets) {
  Passes passes;
  const auto p = predict(test::root() + "/configs/" + config, sets, passes);
  EXPECT_TRUE(p.ok()) << p.error().text();
  Said out;
  if (!p) return out;
  out.iteration_ms = p->report.iteration.ms();
  out.low_ms = p->report.low.ms(), out.high_ms = p->report.high.ms();
  for (const graph::Assumption& a : p->report.context.assumptions) {
    if (a.kind == graph::AssumptionKind::network) out.lines.push_back(a.text);
  }
  return out;
}
using Lines = std::vector<std::string>;
constexpr const char* kRecommender = "dgx_a100_4node.yaml";    // all_to_all and all_reduce on 4 nodes
constexpr const char* kLanguage = "bert_large_dgx_a100.yaml";  // all_reduce only

TEST(NetworkRemarks, NothingToSay) {
  EXPECT_EQ(said_of(kRecommender, {}).lines, Lines{});
  EXPECT_EQ(said_of(kRecommender, {"cluster.nodes=1"}).lines, Lines{});
  EXPECT_EQ(said_of(kRecommender, {"cluster.fabric.oversubscription=1"}).lines, Lines{});
}

TEST(NetworkRemarks, APartlyFilledNvlinkDomainIsAnAssumption) {
  const auto lines = [](const std::string& nodes) {
    return said_of(kLanguage, {"cluster.system=gb200_nvl72", "cluster.nodes=" + nodes}).lines;
  };
  EXPECT_EQ(lines("19"),
            Lines{"the 19 nodes are taken to be in 2 NVLink domains of 10 and 9 nodes, which can hold 18 each "
                  "(cluster.gpu_links.domain_nodes)"});
  EXPECT_EQ(lines("32"), Lines{"the 32 nodes are taken to be in 2 NVLink domains of 16 nodes, which can hold 18 each "
                               "(cluster.gpu_links.domain_nodes)"});
  EXPECT_EQ(lines("36"), Lines{});
  EXPECT_EQ(lines("4"), Lines{});
}

TEST(NetworkRemarks, ALeafThatHoldsTheJobMakesOversubscriptionInert) {
  const Said inherited = said_of(kRecommender, {"cluster.fabric.oversubscription=2"});
  EXPECT_EQ(inherited.lines,
            Lines{"cluster.fabric.oversubscription 2 has no effect: all 4 nodes are under one leaf, because "
                  "cluster.fabric.nodes_per_leaf is 20 (from the system dgx_a100_80gb)"});
  EXPECT_EQ(inherited.iteration_ms, said_of(kRecommender, {}).iteration_ms);
  EXPECT_EQ(said_of(kRecommender, {"cluster.fabric.oversubscription=2.5", "cluster.fabric.nodes_per_leaf=4"}).lines,
            Lines{"cluster.fabric.oversubscription 2.5 has no effect: all 4 nodes are under one leaf, because "
                  "cluster.fabric.nodes_per_leaf is 4"});
  EXPECT_EQ(said_of(kRecommender, {"cluster.fabric.spine_oversubscription=2", "cluster.fabric.nodes_per_leaf=2"}).lines,
            Lines{"cluster.fabric.spine_oversubscription 2 has no effect: all 4 nodes are under one pod, because "
                  "cluster.fabric.leaves_per_pod is 7 (from the system dgx_a100_80gb)"});
  EXPECT_EQ(said_of(kRecommender, {"engine.uplink_load=0.5"}).lines,
            Lines{"engine.uplink_load 0.5 has no effect: all 4 nodes are under one leaf, because "
                  "cluster.fabric.nodes_per_leaf is 20 (from the system dgx_a100_80gb)"});
}

TEST(NetworkRemarks, OversubscriptionThatSlowsACollectiveNeedsNoWords) {
  const std::vector<std::string> two_leaves{"cluster.fabric.nodes_per_leaf=2", "cluster.fabric.oversubscription=2"};
  const Said slowed = said_of(kRecommender, two_leaves);
  EXPECT_EQ(slowed.lines, Lines{});
  EXPECT_GT(slowed.iteration_ms, said_of(kRecommender, {"cluster.fabric.nodes_per_leaf=2"}).iteration_ms);
}

TEST(NetworkRemarks, RingsLeaveTwoToOneUnfelt) {
  const std::vector<std::string> leaves{"cluster.nodes=8", "cluster.fabric.nodes_per_leaf=4"};
  auto narrow = leaves;
  narrow.push_back("cluster.fabric.oversubscription=2");
  const Said free = said_of(kLanguage, leaves), said = said_of(kLanguage, narrow);
  EXPECT_EQ(free.iteration_ms, said.iteration_ms);
  EXPECT_EQ(said.lines, Lines{"cluster.fabric.oversubscription 2 has no effect: no collective of this job fills the "
                              "uplinks before the NICs below them"});
}

TEST(NetworkRemarks, FastNicsBehindSlowPcie) {
  EXPECT_EQ(said_of(kRecommender, {"cluster.nic.bandwidth=800 Gb/s"}).lines,
            Lines{"NICs are limited by PCIe: 8 x 100 GB/s can transfer 208 GB/s per node, of 768 GB/s, because "
                  "cluster.pcie.bandwidth is 26 GB/s"});
  EXPECT_EQ(said_of(kRecommender, {"cluster.nic.bandwidth=800 Gb/s", "cluster.pcie.bandwidth=100 GB/s"}).lines,
            Lines{});
}

TEST(NetworkRemarks, ANetworkThatIsNotUsed) {
  EXPECT_EQ(said_of(kRecommender, {"cluster.nodes=1", "cluster.nic.bandwidth=400 Gb/s"}).lines,
            Lines{"cluster.nic.bandwidth has no effect: all GPUs are in one node"});
  EXPECT_EQ(
      said_of(kRecommender, {"cluster.nodes=1", "cluster.nic.bandwidth=400 Gb/s", "cluster.fabric.oversubscription=2"})
          .lines,
      Lines{"cluster.nic.bandwidth, cluster.fabric.oversubscription have no effect: all GPUs are in one node"});
}

TEST(NetworkRemarks, WhatHasNoEffectHasNoneOnTheRangeEither) {
  for (const char* config : {kRecommender, kLanguage}) {
    const Said own = said_of(config, {"cluster.nodes=1"});
    for (const char* set : {"cluster.nic.bandwidth=100 Gb/s", "cluster.nic.bandwidth=800 Gb/s",
                            "cluster.nic.latency=50 us", "cluster.nic.count=1", "cluster.fabric.switch_latency=5 us"}) {
      const Said other = said_of(config, {"cluster.nodes=1", set});
      EXPECT_EQ(other.iteration_ms, own.iteration_ms) << config << " " << set;
      EXPECT_EQ(other.low_ms, own.low_ms) << config << " " << set;
      EXPECT_EQ(other.high_ms, own.high_ms) << config << " " << set;
    }
  }
}

}  // namespace
}  // namespace distsim::pipeline
