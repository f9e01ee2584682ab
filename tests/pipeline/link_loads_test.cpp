// What the collectives of an iteration move over each link: against the collectives' own sizes, and against laws.
#include "sim/pipeline/contention/link_loads.hpp"

#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

struct Loaded {
  report::Report report;
  LinkLoads loads;
  const LevelLoad* level(LinkLevel l) const {
    for (const LevelLoad& found : loads.levels)
      if (found.level == l) return &found;
    return nullptr;
  }
};

Loaded loaded_text(const std::string& text, const std::vector<std::string>& sets = {}, std::size_t most = 8) {
  const auto parsed = config::parse_experiment_text(text, "test.yaml", sets);
  CHECK(parsed.ok()) << parsed.error().text();
  const auto e = config::resolve(*parsed);
  CHECK(e.ok()) << e.error().text();
  Passes passes;
  const auto prediction = predict(*e, passes);
  CHECK(prediction.ok()) << prediction.error().text();
  auto loads = link_loads(*e, prediction->report, most);
  CHECK(loads.ok()) << loads.error().text();
  return {prediction->report, *std::move(loads)};
}

/// Data parallel: all_reduce over all ranks, and nothing else.
Loaded loaded(const std::vector<std::string>& sets = {}, std::size_t most = 8) {
  return loaded_text(
      "cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: resnet50_v1_5, per_gpu_batch: 32}\n"
      "framework: {name: pytorch}\n",
      sets, most);
}

/// Of a ring over n ranks each member sends 2 (n - 1) / n of the size; out of a node goes what one member sends.
TEST(LinkLoads, AreThoseOfTheRings) {
  const Loaded l = loaded();
  double bytes = 0;
  for (const report::CollectiveTime& c : l.report.collectives) {
    ASSERT_EQ(c.kind, "all_reduce");
    ASSERT_EQ(c.group_size, 32u);
    bytes += static_cast<double>(c.bytes);
  }
  ASSERT_GT(bytes, 0);
  const double sent = 2 * 31.0 / 32 * bytes;
  EXPECT_NEAR(l.level(LinkLevel::gpu)->bytes, 32 * sent, 1e-6 * sent);
  EXPECT_NEAR(l.level(LinkLevel::gpu)->busiest.bytes, sent, 1e-6 * sent);
  EXPECT_NEAR(l.level(LinkLevel::nic)->bytes, 4 * sent, 1e-6 * sent);
  for (const LevelLoad& level : l.loads.levels)
    EXPECT_NEAR(level.busiest.busy_s * level.bandwidth, level.busiest.bytes, 1e-6 * level.busiest.bytes + 1);
  EXPECT_LT(l.level(LinkLevel::nic)->busiest.busy_s, l.report.iteration.seconds());
}

/// Classes and levels are two sums of the same loads.
TEST(LinkLoads, ClassesAddUpToTheLevels) {
  for (const std::size_t most : {2u, 8u, 64u}) {
    const Loaded l = loaded_text(
        "cluster: {system: dgx_a100_80gb, nodes: 8}\nmodel: {name: dlrm_mlperf}\n"
        "framework: {name: pytorch_dlrm}\n",
        {}, most);
    double gpus = 0, nics = 0, nodes = 0, leaves = 0;
    for (const NodeClass& c : l.loads.node_classes) {
      for (const LinkLoad& g : c.gpus) gpus += g.bytes * c.count;
      for (const LinkLoad& n : c.nics) nics += n.bytes * c.count;
      nodes += c.count;
    }
    for (const SwitchClass& c : l.loads.leaf_classes) leaves += c.count;
    EXPECT_EQ(nodes, 8);
    EXPECT_EQ(leaves, l.loads.leaves);
    EXPECT_LE(l.loads.node_classes.size(), most);
    EXPECT_NEAR(gpus, l.level(LinkLevel::gpu)->bytes, 1e-6 * gpus);
    EXPECT_NEAR(nics, l.level(LinkLevel::nic)->bytes, 1e-6 * nics);
  }
}

TEST(LinkLoads, AFasterNicCarriesTheSameBytesInLessTime) {
  const Loaded slow = loaded({"cluster.nic.bandwidth=12.5 GB/s"}), fast = loaded({"cluster.nic.bandwidth=25 GB/s"});
  const LevelLoad &a = *slow.level(LinkLevel::nic), &b = *fast.level(LinkLevel::nic);
  EXPECT_DOUBLE_EQ(a.bytes, b.bytes);
  EXPECT_NEAR(a.busiest.busy_s, 2 * b.busiest.busy_s, 1e-9 * a.busiest.busy_s);
  EXPECT_DOUBLE_EQ(slow.level(LinkLevel::gpu)->busiest.busy_s, fast.level(LinkLevel::gpu)->busiest.busy_s);
}

/// Micro-steps that are not played count as the last one that is.
TEST(LinkLoads, FoldedIterationsAreWhole) {
  const std::string text =
      "cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 64, memory_check: false}\n"
      "framework: {name: megatron_core}\nparallel: {pipeline: 2, tensor: 4, micro_batch: 1}\n";
  const auto bytes = [&](int batch) {
    return loaded_text(text, {"model.global_batch=" + std::to_string(batch)}).level(LinkLevel::gpu)->bytes;
  };
  const double at64 = bytes(64), at128 = bytes(128), at256 = bytes(256);
  EXPECT_GT(at128, 1.5 * at64);
  EXPECT_NEAR(at256 - at128, 2 * (at128 - at64), 1e-6 * at256);
}

TEST(LinkLoads, NameTheLinkThatTheCycleNeeds) {
  const Loaded l = loaded({"cluster.nic.bandwidth=1 GB/s"});
  ASSERT_TRUE(l.report.limits.limited_by.has_value());
  EXPECT_EQ(report::text_of(*l.report.limits.limited_by), "network");
  ASSERT_TRUE(l.loads.limiting.has_value());
  EXPECT_EQ(l.loads.limiting->level, LinkLevel::nic);
  EXPECT_FALSE(l.loads.limiting->collectives.empty());
  // The price is that of the best algorithm: over 4 nodes a tree sends 2 x 3/4 of the size, the ring that is counted 2 x 31/32.
  EXPECT_LE(l.loads.limiting->needs_s, l.loads.limiting->cycle_s * (31.0 / 32) / (3.0 / 4));
  EXPECT_GT(l.loads.limiting->needs_s, 0.3 * l.loads.limiting->cycle_s);
}

TEST(LinkLoads, OfOneGpuAreNone) {
  const Loaded l = loaded({"cluster.nodes=1", "cluster.gpus_per_node=1"});
  for (const LevelLoad& level : l.loads.levels) EXPECT_EQ(level.bytes, 0) << level.name;
  EXPECT_FALSE(l.loads.limiting.has_value());
  EXPECT_TRUE(nlohmann::json::parse(link_loads_json(l.loads))["limiting"].is_null());
}

/// A broken NIC's share is carried by the others of its node.
TEST(LinkLoads, ABrokenNicIsNotUsed) {
  const Loaded l = loaded({"engine.slow_nics=[{node: 1, nic: 3, speed: 0}]"});
  const auto json = nlohmann::json::parse(link_loads_json(l.loads));
  double least = 1e30, most = 0;
  for (const auto& c : json["node_classes"]) {
    double node = 0;
    for (const auto& nic : c["nics"]) {
      node += nic[0].get<double>();
      least = std::min(least, nic[0].get<double>());
      most = std::max(most, nic[0].get<double>());
    }
    EXPECT_NEAR(node, l.level(LinkLevel::nic)->bytes / 4, 1e-6 * node + 8);
  }
  EXPECT_EQ(least, 0);
  EXPECT_NEAR(most, l.level(LinkLevel::nic)->bytes / 4 / 7, 1e-6 * most + 8);
}

/// Nodes of one NVLink domain send to each other by NVLink.
TEST(LinkLoads, NvlinkDomainsSpanNodes) {
  const auto parsed = config::parse_experiment_text(
      "cluster: {system: dgx_h100, nodes: 2, gpu_links: {domain_nodes: 2}}\nmodel: {name: resnet50_v1_5, per_gpu_batch: 32}\n"
      "framework: {name: pytorch}\n",
      "test.yaml", {});
  const config::Experiment e = config::resolve(parsed.value()).value();
  const topology::Topology topology = topology::Topology::build(e.cluster, e.device.compute_capability).value();
  const SharedLinks links = SharedLinks::create(topology, {}).value();
  std::vector<std::uint32_t> all(16);
  for (std::uint32_t r = 0; r < 16; ++r) all[r] = r;
  std::vector<double> bytes(links.capacities().size(), 0);
  links.add_bytes({graph::CollectiveKind::all_gather, 16'000, graph::DType::fp32, {}, {}}, {all}, 0, bytes);
  for (std::uint32_t r = 0; r < bytes.size(); ++r)
    EXPECT_NEAR(bytes[r], links.place_of(r).level == LinkLevel::gpu ? 15'000 : 0, 1e-6) << links.name_of(r);
}

}  // namespace
}  // namespace distsim::pipeline
