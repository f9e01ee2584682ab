// Shared links by hand, and their effects on predictions.
#include "sim/pipeline/contention/contention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

using Demand = engine::Contention::Demand;

topology::ClusterSpec four_nodes() {
  topology::ClusterSpec spec = *config::load_system("dgx_a100_80gb");
  spec.nodes = 4;
  spec.nic.efficiency = 1;
  spec.nic.bandwidth = BytesPerSecond(25e9);
  spec.nic.count = 8;
  spec.fabric.shape = &topology::fat_tree_shape;
  spec.fabric.nodes_per_leaf = 2;
  spec.fabric.oversubscription = 2;
  return spec;
}
/// A collective that is bound by nothing but the links.
Result<double> as_links(const LinksLeft& left) { return 1 / std::min(left.nic, left.uplink); }
topology::Topology topology(const topology::ClusterSpec& spec) { return *topology::Topology::build(spec, 80); }

/// Sum of what all ranks ask for, by name of the resource.
std::map<std::string, double> totals(const SharedLinks& links, const std::vector<std::vector<Demand>>& of_rank) {
  std::map<std::string, double> out;
  for (const auto& demands : of_rank) {
    for (const Demand& d : demands) out[links.name_of(d.resource)] += d.rate;
  }
  return out;
}
std::vector<std::uint32_t> all_ranks() {
  std::vector<std::uint32_t> out(32);
  for (std::uint32_t r = 0; r < 32; ++r) out[r] = r;
  return out;
}

TEST(SharedLinks, ARingOverFourNodes) {
  // All-reduce of 32 MB in 10 ms: 2 x 31/32 x 32 MB = 62 MB from each to the next: 6.2 GB/s out of every GPU and every
  // node, an eighth of it on each NIC. Of the two nodes under a leaf one sends up: 6.2 GB/s on the uplinks.
  const SharedLinks links = *SharedLinks::create(topology(four_nodes()), {});
  const auto t =
      totals(links, *links.demands({graph::CollectiveKind::all_reduce, 32'000'000, graph::DType::fp32, {}, {}},
                                   {all_ranks()}, 0.01, 0, as_links));
  EXPECT_NEAR(t.at("the links of GPU 5 of node 2"), 6.2e9, 1);
  EXPECT_NEAR(t.at("NIC 3 of node 1"), 6.2e9 / 8, 1);
  EXPECT_NEAR(t.at("the uplinks of leaf 1"), 6.2e9, 1);
}

TEST(SharedLinks, AnAllToAllOverFourNodes) {
  // 32 MB a rank in 10 ms: 1 MB to each: 7 MB by NVLink, 24 MB by the NIC, 16 MB to the other leaf from each of its
  // 16 ranks.
  const SharedLinks links = *SharedLinks::create(topology(four_nodes()), {});
  const auto t =
      totals(links, *links.demands({graph::CollectiveKind::all_to_all, 32'000'000, graph::DType::fp32, {}, {}},
                                   {all_ranks()}, 0.01, 0, as_links));
  EXPECT_NEAR(t.at("the links of GPU 0 of node 0"), 0.7e9, 1);
  EXPECT_NEAR(t.at("NIC 0 of node 0"), 2.4e9, 1);
  EXPECT_NEAR(t.at("the uplinks of leaf 0"), 16 * 1.6e9, 10);
}

TEST(SharedLinks, AMessageTakesItsWholeRate) {
  // 20 MB each way in 1 ms, between GPU 1 of node 0 and of node 2 (another leaf), and between two GPUs of node 3.
  const SharedLinks links = *SharedLinks::create(topology(four_nodes()), {});
  const auto t =
      totals(links, *links.demands({graph::CollectiveKind::send_recv, 20'000'000, graph::DType::fp32, {}, {}},
                                   {{1, 17}, {24, 25}, {2}}, 0.001, 0, as_links));
  const std::map<std::string, double> expected = {{"NIC 1 of node 0", 20e9},
                                                  {"NIC 1 of node 2", 20e9},
                                                  {"the uplinks of leaf 0", 20e9},
                                                  {"the uplinks of leaf 1", 20e9},
                                                  {"the links of GPU 0 of node 3", 20e9},
                                                  {"the links of GPU 1 of node 3", 20e9}};
  ASSERT_EQ(t.size(), expected.size());
  for (const auto& [name, rate] : expected) EXPECT_NEAR(t.at(name), rate, 1) << name;
}

TEST(SharedLinks, ACollectiveAloneNeverAsksForMoreThanThereIs) {
  // 32 MB a rank in 1 ms would need 24 GB/s of each adapter (there are 25) and 256 GB/s of uplinks that have 2 x 8 x 25
  // / 2 = 200: all is scaled by 200/256.
  const SharedLinks links = *SharedLinks::create(topology(four_nodes()), {});
  const auto t =
      totals(links, *links.demands({graph::CollectiveKind::all_to_all, 32'000'000, graph::DType::fp32, {}, {}},
                                   {all_ranks()}, 0.001, 0, as_links));
  EXPECT_NEAR(t.at("the uplinks of leaf 0"), 200e9, 100);
  EXPECT_NEAR(t.at("NIC 0 of node 0"), 24e9 * 200 / 256, 100);
}

TEST(SharedLinks, ABrokenAdapterLeavesItsTrafficToTheOthers) {
  config::EngineSpec engine;
  engine.slow_nics = {{1, 2, 0}, {0, 1, 0.5}};
  const SharedLinks links = *SharedLinks::create(topology(four_nodes()), engine);
  const auto t =
      totals(links, *links.demands({graph::CollectiveKind::all_to_all, 32'000'000, graph::DType::fp32, {}, {}},
                                   {all_ranks()}, 0.01, 0, as_links));
  EXPECT_EQ(t.count("NIC 2 of node 1"), 0u);
  // Alone, the collective is to be slowed by 8/7 on the seven that are left, and by 2 on the slow one.
  EXPECT_NEAR(t.at("NIC 3 of node 1"), 25e9 * 8 / 7, 1);
  EXPECT_NEAR(t.at("NIC 1 of node 0"), 25e9, 1);
  EXPECT_NEAR(t.at("NIC 1 of node 2"), 2.4e9, 1);
}

TEST(SharedLinks, ASlowerAdapterCostsWhatTheCollectiveLosesAndNoMore) {
  // 32 MB a rank in 1 ms fill the adapters with 24 of 25 GB/s, of which one has half; bytes are only a part of the time, so
  // that with half of all adapters the collective would take 1.2 times as long. Where it would lose nothing, nothing is lost.
  config::EngineSpec engine;
  engine.slow_nics = {{0, 1, 0.5}};
  topology::ClusterSpec spec = four_nodes();
  spec.fabric.oversubscription = 1;
  const SharedLinks links = *SharedLinks::create(topology(spec), engine);
  for (const double slowdown : {1.2, 1.0}) {
    const auto t = totals(
        links, *links.demands({graph::CollectiveKind::all_to_all, 32'000'000, graph::DType::fp32, {}, {}},
                              {all_ranks()}, 0.001, 0, [&](const LinksLeft&) -> Result<double> { return slowdown; }));
    EXPECT_NEAR(t.at("NIC 1 of node 0"), 12.5e9 * slowdown, 1);
    EXPECT_NEAR(t.at("NIC 2 of node 0"), 24e9, 1);
  }
}

TEST(SharedLinks, Refusals) {
  const auto refused = [](std::vector<config::SlowNic> nics) {
    config::EngineSpec engine;
    engine.slow_nics = std::move(nics);
    const auto links = SharedLinks::create(topology(four_nodes()), engine);
    return links ? "accepted" : links.error().what;
  };
  EXPECT_EQ(refused({{4, 0, 0.5}}), "engine.slow_nics: found NIC 0 of node 4, expected one of 4 nodes with 8 NICs");
  std::vector<config::SlowNic> all;
  for (std::int64_t nic = 0; nic < 8; ++nic) all.push_back({0, nic, 0});
  EXPECT_EQ(refused(all), "engine.slow_nics: found all 8 NICs of node 0 failed, expected at least one that works");
}

struct PlayedJob {
  double iteration = 0;
  std::uint32_t slowest = 0;
  std::string words;
};
PlayedJob play(const std::string& config, const std::vector<std::string>& sets) {
  Passes passes;
  const auto p = predict(test::root() + "/configs/" + config, sets, passes);
  EXPECT_TRUE(p.ok()) << p.error().text();
  PlayedJob out;
  if (!p) return out;
  out.iteration = p->report.iteration.ms();
  out.slowest = p->report.slowest_rank;
  for (const graph::Assumption& a : p->report.context.assumptions) out.words += a.text + "\n";
  return out;
}
constexpr const char* kDlrm = "dgx_a100_4node.yaml";

TEST(Contention, CollectivesOnOneStreamAreNotSlowed) {
  const std::string config = "bert_large_dgx_a100.yaml";
  const PlayedJob plain = play(config, {}), shared = play(config, {"engine.contention=true"});
  EXPECT_DOUBLE_EQ(plain.iteration, shared.iteration);
  EXPECT_NE(shared.words.find("contention: no collective is slowed"), std::string::npos) << shared.words;
  EXPECT_EQ(plain.words.find("contention:"), std::string::npos);
}

/// Nor where the input falls behind the kernels so slowly that three iterations do not show it.
TEST(Contention, IterationsArePlayedUntilTheyHaveARhythm) {
  std::vector<std::string> sets{"cluster.system=dgx_h200",     "cluster.nodes=1",
                                "model.name=tgn_gdelt_tgl",    "model.precision=bf16",
                                "framework.name=colossalai",   "engine.slow_gpus=[{rank: 0, speed: 0.5}]",
                                "device.clock.locked=900 MHz", "model.memory_check=false"};
  const double plain = play(kDlrm, sets).iteration;
  sets.emplace_back("engine.contention=true");
  EXPECT_DOUBLE_EQ(play(kDlrm, sets).iteration, plain);
}

TEST(Contention, ASlowAdapterIsFeltAndNamed) {
  const PlayedJob healthy = play(kDlrm, {}), slow = play(kDlrm, {"engine.slow_nics=[{node: 1, nic: 2, speed: 0.1}]"});
  EXPECT_GT(slow.iteration, healthy.iteration * 1.2);
  EXPECT_NE(slow.words.find("NIC 2 of node 1"), std::string::npos) << slow.words;
}

/// `speed` of every NIC of the four nodes.
std::string all_nics_at(const std::string& speed) {
  std::string list;
  for (int node = 0; node < 4; ++node) {
    for (int nic = 0; nic < 8; ++nic)
      list += (list.empty() ? "" : ", ") + ("{node: " + std::to_string(node) + ", nic: " + std::to_string(nic)) +
              ", speed: " + speed + "}";
  }
  return "engine.slow_nics=[" + list + "]";
}

TEST(Contention, SlowLinksCostWhatTheSameLinksCostStatedDirectly) {
  for (const auto& [speed, bandwidth] : {std::pair("0.9", "22.5 GB/s"), std::pair("0.5", "12.5 GB/s")}) {
    const double slow = play(kDlrm, {all_nics_at(speed)}).iteration;
    const double stated = play(kDlrm, {"cluster.nic.bandwidth=" + std::string(bandwidth)}).iteration;
    EXPECT_NEAR(slow, stated, 0.03 * stated) << speed;
  }
  const double failed = play(kDlrm, {"engine.slow_nics=[{node: 0, nic: 0, speed: 0}]"}).iteration;
  EXPECT_GT(failed, play(kDlrm, {}).iteration);
}

/// A NIC that is faster than its PCIe link has that much to lose: 50 GB/s behind 26 GB/s at half its rate is 25 GB/s.
TEST(Contention, ASlowNicCostsNothingWhereItsPcieLinkIsSlowerStill) {
  const std::string faster = "cluster.nic.bandwidth=50 GB/s";
  const double sound = play(kDlrm, {faster}).iteration;
  EXPECT_EQ(play(kDlrm, {faster, "engine.slow_nics=[{node: 1, nic: 2, speed: 0.75}]"}).iteration, sound);
  for (const auto& [speed, bandwidth] :
       {std::pair("0.75", "37.5 GB/s"), std::pair("0.5", "25 GB/s"), std::pair("0.25", "12.5 GB/s")}) {
    const double slow = play(kDlrm, {faster, all_nics_at(speed)}).iteration;
    const double stated = play(kDlrm, {"cluster.nic.bandwidth=" + std::string(bandwidth)}).iteration;
    EXPECT_NEAR(slow, stated, 0.03 * stated) << speed;
  }
  // What the other NICs of its node take over is limited by their PCIe links.
  EXPECT_GT(play(kDlrm, {faster, "engine.slow_nics=[{node: 0, nic: 0, speed: 0}]"}).iteration, sound);
}

/// Two NICs of a GPU share its PCIe link, so that both at half their rate give it as much.
TEST(SlowerLinks, ThePcieLinksOfTheMembersMayLimitTheirNics) {
  const auto iteration = [](const std::string& cluster, const std::string& engine) {
    const std::string text =
        "cluster: {name: x, device: h100_sxm5_80gb, gpus_per_node: 2, nodes: 2, gpu_links: {kind: pcie}, nic: {count: 4, " +
        cluster +
        "}}\nmodel: {kind: program, per_gpu_batch: 1, program: {steps: [{name: a, collective: all_reduce, size: 1 GB}]}}\n"
        "framework: {host: {per_step: 0 s, per_op: 0 s, per_op_backward: 0 s, per_launch: 0 s}}\n" +
        engine;
    const auto parsed = config::parse_experiment_text(text, "test.yaml", {});
    const config::Experiment e = config::resolve(parsed.value()).value();
    Passes passes;
    return predict(e, passes).value().report.iteration.ms();
  };
  std::string half;
  for (int node = 0; node < 2; ++node) {
    for (int nic = 0; nic < 4; ++nic)
      half += (half.empty() ? "" : ", ") + ("{node: " + std::to_string(node)) + ", nic: " + std::to_string(nic) +
              ", speed: 0.5}";
  }
  const double stated = iteration("bandwidth: 15 GB/s", "");
  EXPECT_NEAR(iteration("bandwidth: 30 GB/s", "engine: {slow_nics: [" + half + "]}\n"), stated, 0.03 * stated);
}

struct IterationOf {
  double ms = 0, parts = 0;
};
IterationOf iteration_of(const std::string& text, const std::vector<std::string>& sets) {
  const auto parsed = config::parse_experiment_text(text, "test.yaml", sets);
  EXPECT_TRUE(parsed.ok());
  const config::Experiment e = config::resolve(parsed.value()).value();
  Passes passes;
  const report::Report r = predict(e, passes).value().report;
  const Duration parts = r.compute + r.exposed_comm + r.waiting + r.host_bound + r.idle;
  return {r.iteration.ms(), parts.ms()};
}

/// Jobs whose collectives are bound by bytes, by latency, and by a part of each.
const std::map<std::string, std::string> kJobsOfTwoNodes{
    {"32 NICs each",
     "cluster: {system: p5_h100, nodes: 2}\nmodel: {name: mlp, per_gpu_batch: 2, global_batch: 0, precision: tf32, "
     "optimizer: lamb, accumulation: 2}\nframework: {name: fsdp1_fms}\nparallel: {shard: gradients}\n"},
    {"beside a slow PCIe", "cluster: {system: hgx_a100_800gbps, nodes: 2}\nmodel: {name: ncf_ml20m}\n"},
    {"gradients", "cluster: {system: dgx_a100, nodes: 2}\nmodel: {name: bert_base_seq128}\n"}};

/// `speed` of so many NICs of each of the two nodes.
std::string nics_at(std::size_t nodes, std::size_t nics, double speed) {
  std::string list;
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t nic = 0; nic < nics; ++nic)
      list += (list.empty() ? "" : ", ") + ("{node: " + std::to_string(node)) + ", nic: " + std::to_string(nic) +
              ", speed: " + std::to_string(speed) + "}";
  }
  return "engine.slow_nics=[" + list + "]";
}

TEST(Contention, OneSlowNicCostsNoMoreThanAllOfThemAndThoseWhatTheirBandwidthCosts) {
  for (const auto& [name, text] : kJobsOfTwoNodes) {
    const config::Experiment e = config::resolve(config::parse_experiment_text(text, "test.yaml", {}).value()).value();
    const auto nics = static_cast<std::size_t>(e.cluster.nic.count);
    const double sound = iteration_of(text, {}).ms;
    for (const double speed : {0.9, 0.5, 0.2}) {
      const std::string bandwidth =
          "cluster.nic.bandwidth=" + std::to_string(e.cluster.nic.bandwidth.value() * speed * 1e-9) + " GB/s";
      const double one = iteration_of(text, {nics_at(1, 1, speed)}).ms,
                   all = iteration_of(text, {nics_at(2, nics, speed)}).ms, stated = iteration_of(text, {bandwidth}).ms;
      EXPECT_GE(one * 1.001, sound) << name << " " << speed;
      EXPECT_LE(one, all * 1.001) << name << " " << speed;
      EXPECT_NEAR(all, stated, 0.03 * stated) << name << " " << speed;
    }
  }
}

TEST(Contention, ABetterPcieLinkIsNeverSlowerBesideASlowNic) {
  for (const auto& [name, text] : kJobsOfTwoNodes) {
    double before = 1e9;
    for (const char* rate : {"13", "20", "26", "52"}) {
      const double now =
          iteration_of(text, {nics_at(1, 1, 0.5), "cluster.pcie.bandwidth=" + std::string(rate) + " GB/s"}).ms;
      EXPECT_LE(now, before * 1.005) << name << " " << rate;  // kernels beside faster collectives have fewer SMs
      before = now;
    }
  }
}

/// The collectives of the last iteration that was played had the links to themselves where others share them with the next.
TEST(Contention, ASlowNicDoesNotHurryAJobBoundByItsHost) {
  const std::string text =
      "cluster: {system: dgx1_v100_16gb, nodes: 4}\nmodel: {kind: dlrm, global_batch: 8192, precision: fp32, optimizer: "
      "adagrad, dlrm: {embedding_dim: 16, bottom_mlp: [512, 256, 16], top_mlp: [1024, 1024, 1], tables: [{rows: 30236}], "
      "embedding_optimizer: adam}}\nparallel: {sharding: row_wise}\nframework: {name: torchrec}\n";
  const double sound = iteration_of(text, {}).ms;
  for (const char* speed : {"0.8", "0.5", "0.35", "0.3", "0.25", "0.2", "0.1"}) {
    const IterationOf slow =
        iteration_of(text, {"engine.slow_nics=[{node: 1, nic: 1, speed: " + std::string(speed) + "}]"});
    EXPECT_GE(slow.ms * 1.001, sound) << speed;
    EXPECT_NEAR(slow.parts, slow.ms, 1e-6 * slow.ms) << speed;
  }
}

/// Measured curves are those of sound links, whether the system is as its file says or a what-if.
TEST(Contention, SlowLinksCostTheSameInAWhatIfThatChangesNothing) {
  const std::string text =
      "cluster: {system: hgx_h20, nodes: 8}\nmodel: {name: mpm_dlrm_ddp, per_gpu_batch: 512, memory_check: false}\n"
      "framework: {name: paxml}\nengine: {slow_nics: [{node: 0, nic: 0, speed: 0.5}]}\n";
  const auto ms = [&](const std::vector<std::string>& sets) {
    const auto parsed = config::parse_experiment_text(text, "test.yaml", sets);
    const config::Experiment e = config::resolve(parsed.value()).value();
    Passes passes;
    return predict(e, passes).value().report.iteration.ms();
  };
  const double as_shipped = ms({});
  EXPECT_NEAR(ms({"cluster.fabric.switch_latency=0.30001 us"}), as_shipped, 1e-5 * as_shipped);
  EXPECT_LE(ms({"cluster.fabric.switch_latency=0.1 us"}), as_shipped);
}

/// The curves of a system are those of its sound links: what else is said of it changes nothing of a slow adapter.
TEST(Contention, ASlowAdapterCostsTheSameOnASystemThatIsSaidToDifferElsewhere) {
  const auto iteration = [](const std::vector<std::string>& more) {
    std::vector<std::string> sets{"cluster.system=gcp_a3_high", "cluster.nodes=4", "model.global_batch=4096",
                                  "engine.slow_nics=[{node: 0, nic: 0, speed: 0}]", "cluster.host.jitter_time=0 us"};
    sets.insert(sets.end(), more.begin(), more.end());
    return play(kDlrm, sets).iteration;
  };
  const double as_it_is = iteration({});
  EXPECT_DOUBLE_EQ(iteration({"cluster.host.jitter_rate=1 Hz"}), as_it_is);
  EXPECT_DOUBLE_EQ(iteration({"cluster.pcie.latency=1.4 us"}), as_it_is);
  EXPECT_LE(iteration({"cluster.nic.bandwidth=210 Gb/s"}), as_it_is);
  EXPECT_LE(iteration({"cluster.gpu_links.bandwidth_per_link=30 GB/s"}), as_it_is);
}

TEST(Contention, ASlowGpuHoldsUpTheOthers) {
  const PlayedJob healthy = play(kDlrm, {}), slow = play(kDlrm, {"engine.slow_gpus=[{rank: 13, speed: 0.25}]"});
  EXPECT_GT(slow.iteration, healthy.iteration);
  EXPECT_EQ(slow.slowest, 13u);
}

std::vector<std::string> oversubscribed(const std::string& nodes_per_leaf) {
  return {"cluster.fabric.kind=fat_tree", "cluster.fabric.nodes_per_leaf=" + nodes_per_leaf,
          "cluster.fabric.oversubscription=8", "collectives.use_curves=false"};
}

TEST(Contention, JobsShareTheUplinksOfAnOversubscribedTree) {
  // Four jobs spread over leaves of four nodes: each has one node under every leaf and sends all through its uplinks.
  const std::vector<std::string> tree = oversubscribed("4");
  auto crowded = tree;
  crowded.push_back("engine.jobs=4");
  const PlayedJob one = play(kDlrm, tree), many = play(kDlrm, crowded);
  EXPECT_GT(many.iteration, one.iteration * 1.05);
  EXPECT_NE(many.words.find("the uplinks of leaf"), std::string::npos) << many.words;
}

TEST(Contention, OtherJobsTakeTheirShareOfTheUplinks) {
  auto loaded = oversubscribed("2");
  const PlayedJob free = play(kDlrm, loaded);
  loaded.push_back("engine.uplink_load=0.9");
  EXPECT_GT(play(kDlrm, loaded).iteration, free.iteration * 1.05);
}

/// A sound NIC is no reason to share links; one that is not there is refused all the same.
TEST(Contention, ASoundNicChangesNothing) {
  const PlayedJob plain = play(kDlrm, {}), sound = play(kDlrm, {"engine.slow_nics=[{node: 1, nic: 2, speed: 1}]"});
  EXPECT_EQ(plain.iteration, sound.iteration);
  const auto error_of = [](const std::vector<std::string>& sets) {
    Passes passes;
    const auto p = predict(test::root() + "/configs/" + kDlrm, sets, passes);
    return p.ok() ? std::string() : p.error().text();
  };
  EXPECT_NE(error_of({"engine.slow_nics=[{node: 99, nic: 2, speed: 1}]"}).find("found NIC 2 of node 99"),
            std::string::npos);
  EXPECT_NE(error_of({"engine.contention=false", "engine.jobs=2"})
                .find("contention: found false, expected true, or no jobs, with which collectives share links"),
            std::string::npos);
  EXPECT_EQ(error_of({"engine.contention=false"}), "");
}

TEST(Contention, RefusalsOfRanksThatAreNotThere) {
  Passes passes;
  const auto p = predict(test::root() + "/configs/" + kDlrm, {"engine.slow_gpus=[{rank: 32, speed: 0.5}]"}, passes);
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.error().text(), "--set engine.slow_gpus: found rank 32, expected one of 32 ranks");
}

TEST(Contention, MoreStepsThanMemoryHoldsAreRefused) {
  const std::pair<const char*, const char*> keys[] = {
      {"engine.contention=true", "engine.contention"},
      {"engine.jobs=2", "engine.jobs"},
      {"engine.slow_nics=[{node: 1, nic: 2, speed: 0.1}]", "engine.slow_nics"}};
  for (const auto& [set, key] : keys) {
    Passes passes;
    const auto p = predict(test::root() + "/configs/bert_large_dgx_a100.yaml",
                           {set, "cluster.nodes=20000", "model.global_batch=0", "model.per_gpu_batch=4"}, passes);
    ASSERT_FALSE(p.ok()) << set;
    EXPECT_TRUE(p.error().text().starts_with("--set " + std::string(key) + ": found ")) << p.error().text();
    EXPECT_NE(p.error().hint.find("cluster.nodes"), std::string::npos) << p.error().hint;
  }
}

}  // namespace
}  // namespace distsim::pipeline
