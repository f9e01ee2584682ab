// Bad systems and devices: each is refused with the key, what was found and what was expected.
#include <gtest/gtest.h>

#include "choice_keys.hpp"
#include "shipped.hpp"
#include "topology/shapes/shape.hpp"

namespace distsim::topology {
namespace {

std::string refusal(ClusterSpec s) {
  const auto built = Topology::build(s, 70);
  return built.ok() ? "" : built.error().text();
}

TEST(Refusals, ShapesThatCannotBe) {
  ClusterSpec cube = read_system("dgx1_v100_16gb").value();
  cube.gpus_installed = 0;
  cube.gpus_per_node = 5;
  EXPECT_NE(refusal(cube).find("cluster.gpus_per_node: found 5, expected 8 for hybrid_cube_mesh"), std::string::npos)
      << refusal(cube);
  cube.gpus_per_node = 17;
  EXPECT_NE(refusal(cube), "");
  cube.gpus_per_node = 4;
  EXPECT_EQ(refusal(cube), "");

  ClusterSpec star = read_system("dgx_a100_80gb").value();
  star.gpu_links.switches = 0;
  EXPECT_NE(refusal(star).find("gpu_links.switches: found 0"), std::string::npos);
  star.gpu_links.switches = 13;
  EXPECT_NE(refusal(star).find("found 13, expected at most links_per_gpu (12)"), std::string::npos);

  ClusterSpec mesh = read_system("abci_v").value();
  mesh.gpus_installed = 0;
  mesh.gpus_per_node = 5;
  EXPECT_NE(refusal(mesh).find("links_per_gpu: found 6, expected a multiple of 4"), std::string::npos);
  mesh.gpus_per_node = 4;
  mesh.gpu_links.domain_nodes = 2;
  EXPECT_NE(refusal(mesh).find("domain_nodes"), std::string::npos);

  ClusterSpec none = read_system("abci_v").value();
  none.gpu_links.shape = &none_shape;
  EXPECT_NE(refusal(none).find("found 4, expected 1"), std::string::npos);
}

/// A core that detours take whole is never there; what they take beyond a quiet node's share makes host times longer.
TEST(Refusals, HostsThatAreNeverThere) {
  const auto read = [](const std::string& keys) {
    ConfigNode system = parse_yaml_file(test::config("systems/dgx_a100_80gb.yaml")).value();
    EXPECT_TRUE(merge_config(system, parse_yaml("{host: {" + keys + "}}", "x.yaml").value()).ok());
    return cluster_schema().read(system);
  };
  const auto factor = [&](const std::string& keys) {
    const auto cluster = read(keys);
    EXPECT_TRUE(cluster.ok()) << cluster.error().text();
    return cluster->host.launch_factor();
  };
  EXPECT_NE(
      read("jitter_rate: 1 MHz, jitter_time: 1 s")
          .error()
          .text()
          .find("cluster.host.jitter_time: found 1 s at a jitter_rate of 1 MHz, expected less than 1 s of detours"),
      std::string::npos);
  EXPECT_FALSE(read("jitter_rate: 1 kHz, jitter_time: 1 ms").ok());
  EXPECT_EQ(factor(""), 1);
  EXPECT_EQ(factor("jitter_rate: 0 Hz"), 1);
  EXPECT_NEAR(factor("jitter_rate: 500 Hz, jitter_time: 1 ms"), 2, 1e-3);
  EXPECT_NEAR(factor("dispatch_scale: 3, jitter_rate: 900 Hz, jitter_time: 1 ms"), 30, 1e-2);
  double before = 1;
  for (const char* rate : {"20 Hz", "200 Hz", "2 kHz", "20 kHz", "39 kHz"}) {
    const double now = factor(std::string("jitter_rate: ") + rate);
    EXPECT_GT(now, before) << rate;
    before = now;
  }
}

TEST(Refusals, ClustersThatCannotBe) {
  ClusterSpec s = read_system("dgx_a100_80gb").value();
  s.nodes = 0;
  EXPECT_NE(refusal(s).find("cluster.nodes: found 0"), std::string::npos);
  s.nodes = (1 << 21) + 1;  // 2^24 + 8 GPUs
  EXPECT_NE(refusal(s).find("16777216 GPUs"), std::string::npos);
  s.nodes = 2;
  s.nic.count = 0;
  EXPECT_NE(refusal(s).find("nic.count: found 0, expected at least 1 to join 2 nodes"), std::string::npos);
  s.nic.count = 8;
  s.fabric.shape = fabric_shapes().back();  // single_switch
  s.fabric.oversubscription = 2;
  EXPECT_NE(refusal(s).find("oversubscription: found 2, expected 1"), std::string::npos);
}

/// The first line of what the schema says about a system file with one line changed.
std::string schema_refusal(const std::string& key, const std::string& value) {
  ConfigNode node = parse_yaml_file(test::config("systems/dgx_a100_80gb.yaml")).value();
  if (!set_config_path(node, key, value)) return "path";
  const auto read = cluster_schema().read(node);
  return read.ok() ? "" : read.error().text();
}

TEST(Refusals, SchemaRanges) {
  EXPECT_EQ(schema_refusal("nodes", "1000000"), "");
  EXPECT_NE(schema_refusal("nodes", "0").find("cluster.nodes: found '0', expected"), std::string::npos)
      << schema_refusal("nodes", "0");
  EXPECT_NE(schema_refusal("nodes", "4e9").find("cluster.nodes"), std::string::npos);
  EXPECT_NE(schema_refusal("gpus_per_node", "1025").find("cluster.gpus_per_node"), std::string::npos);
  EXPECT_NE(schema_refusal("gpus_per_node", "-8").find("cluster.gpus_per_node"), std::string::npos);
  EXPECT_NE(schema_refusal("nic.bandwidth", "25").find("nic.bandwidth"), std::string::npos);  // no unit
  EXPECT_NE(schema_refusal("nic.bandwidth", "nan GB/s").find("nic.bandwidth"), std::string::npos);
  EXPECT_NE(schema_refusal("nic.bandwidth", "0 GB/s").find("nic.bandwidth"), std::string::npos);
  EXPECT_NE(schema_refusal("gpu_links.kind", "nvswich").find("did you mean 'nvswitch'?"), std::string::npos);
  EXPECT_NE(schema_refusal("gpu_links.links_per_gpu", "0").find("links_per_gpu: found 0"), std::string::npos);
  EXPECT_NE(schema_refusal("fabric.oversubscription", "0.5").find("fabric.oversubscription"), std::string::npos);
  EXPECT_NE(schema_refusal("fabric.oversubscripton", "2").find("did you mean 'oversubscription'?"), std::string::npos);
}

TEST(Refusals, AMisspeltTransportIsNotAnotherNetwork) {
  EXPECT_EQ(schema_refusal("nic.transport", "tcp"), "");
  for (const auto& [wrong, meant] : {std::pair("EFA", "efa"), {"tpc", "tcp"}, {"infinband", "infiniband"}}) {
    const std::string text = schema_refusal("nic.transport", wrong);
    EXPECT_NE(text.find("cluster.nic.transport: found '" + std::string(wrong) + "', expected one of infiniband, roce"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("did you mean '" + std::string(meant) + "'?"), std::string::npos) << text;
  }
}

TEST(Refusals, ALockedHostClockNeedsTheUsualOne) {
  EXPECT_EQ(schema_refusal("host.locked_clock", "2 GHz"), "") << "3.4 GHz is stated";
  EXPECT_NE(
      schema_refusal("host.locked_clock", "3.6 GHz").find("locked_clock: found 3.6 GHz, expected at most usual_clock"),
      std::string::npos);
  ConfigNode node = parse_yaml_file(test::config("systems/pcie_l40s.yaml")).value();
  ASSERT_TRUE(set_config_path(node, "host.locked_clock", "2 GHz"));
  const auto read = cluster_schema().read(node);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().text().find("found 2 GHz without usual_clock"), std::string::npos) << read.error().text();
}

TEST(Refusals, EveryFixedVocabulary) {
  test::expect_misspellings_refused(cluster_schema());
  test::expect_misspellings_refused(device_schema());
}

TEST(Refusals, DeviceRules) {
  const auto refuse = [](const std::string& key, const std::string& value) -> std::string {
    ConfigNode node = parse_yaml_file(test::config("devices/a100_sxm4_80gb.yaml")).value();
    if (!set_config_path(node, key, value)) return "path";
    const auto read = device_schema().read(node);
    return read.ok() ? "" : read.error().text();
  };
  EXPECT_EQ(refuse("clock.sustained", "1410 MHz"), "");
  EXPECT_NE(refuse("clock.sustained", "1500 MHz").find("sustained: found 1.5 GHz, expected at most boost"),
            std::string::npos);
  EXPECT_EQ(refuse("clock.locked", "1095 MHz"), "");
  EXPECT_NE(refuse("clock.locked", "1500 MHz").find("locked: found 1.5 GHz, expected at most boost"),
            std::string::npos);
  EXPECT_NE(refuse("clock.locked", "5 MHz").find("locked: found 5 MHz, expected at least 100 MHz"), std::string::npos)
      << refuse("clock.locked", "5 MHz");
  EXPECT_NE(refuse("peak.fp61", "1 TFLOP/s").find("did you mean 'fp64'?"), std::string::npos)
      << refuse("peak.fp61", "1 TFLOP/s");
  EXPECT_NE(refuse("hbm.capacity", "80").find("hbm.capacity"), std::string::npos);
  EXPECT_EQ(refuse("l2.bandwidth", "1 TB/s"), "");  // said in the report
  EXPECT_NE(refuse("reserved_memory", "100 GB").find("reserved_memory"), std::string::npos);
}

}  // namespace
}  // namespace distsim::topology
