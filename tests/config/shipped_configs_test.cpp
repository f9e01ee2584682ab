// Everything in configs/ loads, is named after its file, and names nothing that is not there.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "sim/config/config.hpp"
#include "test_paths.hpp"

namespace distsim::config {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> experiments() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(test::config(""))) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ShippedConfigs, EverySystemLoadsAndItsDeviceIsThere) {
  const auto names = names_in("systems");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto system = load_system(name);
    ASSERT_TRUE(system.ok()) << system.error().text();
    EXPECT_EQ(system->name, name);
    EXPECT_FALSE(system->source.empty()) << name << ": where do the figures come from?";
    const auto device = load_device(system->device);
    EXPECT_TRUE(device.ok()) << name << ": " << device.error().text();
  }
}

TEST(ShippedConfigs, EveryDeviceLoads) {
  const auto names = names_in("devices");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto device = load_device(name);
    ASSERT_TRUE(device.ok()) << device.error().text();
    EXPECT_EQ(device->name, name);
  }
}

TEST(ShippedConfigs, EveryModelLoads) {
  const auto names = names_in("models");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto model = load_model(name);
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(model->name, name);
  }
}

TEST(ShippedConfigs, EveryFrameworkLoads) {
  const auto names = names_in("frameworks");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto framework = load_framework(name);
    ASSERT_TRUE(framework.ok()) << framework.error().text();
    EXPECT_EQ(framework->name, name);
  }
}

TEST(ShippedConfigs, EveryExperimentResolvesAndHasATitle) {
  ASSERT_FALSE(experiments().empty());
  for (const std::string& path : experiments()) {
    const auto e = load_experiment(path, {});
    ASSERT_TRUE(e.ok()) << e.error().text();
    EXPECT_NE(e->merged.find("title"), nullptr) << path;
  }
}

TEST(ShippedConfigs, AnAliasMeansOneThing) {
  for (const std::string kind : {"systems", "devices"}) {
    std::map<std::string, std::string> owner;
    for (const std::string& name : names_in(kind)) owner[name] = name;
    for (const std::string& name : names_in(kind)) {
      const auto aliases = kind == "systems" ? load_system(name)->aliases : load_device(name)->aliases;
      for (const std::string& alias : aliases) {
        const auto [it, inserted] = owner.emplace(alias, name);
        EXPECT_TRUE(inserted) << alias << " is " << it->second << " and " << name;
      }
    }
  }
}

/// As cudaGetDeviceProperties writes them, in logs, traces and the files of op_bench.
TEST(ShippedConfigs, DevicesAreFoundByTheNamesOfDrivers) {
  const std::map<std::string, std::string> devices{{"NVIDIA L4", "l4"},
                                                   {"NVIDIA A10", "a10"},
                                                   {"NVIDIA A30", "a30"},
                                                   {"NVIDIA A40", "a40"},
                                                   {"NVIDIA L40", "l40"},
                                                   {"NVIDIA L40S", "l40s"},
                                                   {"NVIDIA A100-SXM4-40GB", "a100_sxm4_40gb"},
                                                   {"NVIDIA A100-SXM4-80GB", "a100_sxm4_80gb"},
                                                   {"NVIDIA A100-PCIE-40GB", "a100_pcie_40gb"},
                                                   {"NVIDIA A100 80GB PCIe", "a100_pcie_80gb"},
                                                   {"NVIDIA A800-SXM4-80GB", "a800_sxm4_80gb"},
                                                   {"NVIDIA H100 80GB HBM3", "h100_sxm5_80gb"},
                                                   {"NVIDIA H100 PCIe", "h100_pcie"},
                                                   {"NVIDIA H100 NVL", "h100_nvl"},
                                                   {"NVIDIA H800", "h800_sxm5_80gb"},
                                                   {"NVIDIA H20", "h20"},
                                                   {"NVIDIA H20-3e", "h20_3e"},
                                                   {"NVIDIA H200", "h200_sxm"},
                                                   {"NVIDIA H200 NVL", "h200_nvl"},
                                                   {"NVIDIA GH200 480GB", "gh200"},
                                                   {"NVIDIA GH200 144G HBM3e", "gh200_144gb"},
                                                   {"NVIDIA B200", "b200"},
                                                   {"NVIDIA B300 SXM6 AC", "b300"},
                                                   {"NVIDIA GB200", "gb200"},
                                                   {"NVIDIA GB300", "gb300"},
                                                   {"NVIDIA GeForce RTX 2080 Ti", "rtx_2080_ti"},
                                                   {"NVIDIA GeForce RTX 4090", "rtx_4090"},
                                                   {"NVIDIA GeForce GTX 1080 Ti", "gtx_1080_ti"},
                                                   {"NVIDIA GeForce GTX TITAN X", "titan_x_maxwell"},
                                                   {"NVIDIA TITAN X (Pascal)", "titan_x_pascal"},
                                                   {"NVIDIA TITAN Xp", "titan_xp"},
                                                   {"NVIDIA RTX A5000", "rtx_a5000"},
                                                   {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000"},
                                                   {"Tesla M40", "m40"},
                                                   {"Tesla P4", "p4"},
                                                   {"Tesla P100-PCIE-16GB", "p100_pcie_16gb"},
                                                   {"Tesla P100-SXM2-16GB", "p100_sxm2"},
                                                   {"Tesla T4", "t4"},
                                                   {"Tesla V100-SXM2-16GB", "v100_sxm2_16gb"},
                                                   {"Tesla V100-SXM2-32GB", "v100_sxm2_32gb"},
                                                   {"Tesla V100-SXM3-32GB", "v100_sxm3_32gb"},
                                                   {"Tesla V100-PCIE-32GB", "v100_pcie_32gb"},
                                                   {"Tesla V100-DGXS-32GB", "v100_pcie_32gb"},
                                                   {"Tesla V100S-PCIE-32GB", "v100s_pcie_32gb"},
                                                   {"AMD Instinct MI250X", "mi250x"},
                                                   {"AMD Instinct MI300X", "mi300x"}};
  for (const auto& [driver, name] : devices) {
    const auto device = load_device(driver);
    ASSERT_TRUE(device.ok()) << driver;
    EXPECT_EQ(device->name, name) << driver;
  }
  for (const char* unclear : {"NVIDIA A100", "Tesla V100", "NVIDIA H100", "NVIDIA RTX 6000", "NVIDIA"})
    EXPECT_FALSE(load_device(unclear).ok()) << unclear;
}

TEST(ShippedConfigs, TheFlagshipIsFourNodesOfEight) {
  const auto e = load_experiment(test::config("dgx_a100_4node.yaml"), {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->cluster.nodes, 4);
  EXPECT_EQ(e->cluster.gpus_per_node, 8);
  EXPECT_EQ(e->device.sm_count, 108);
  EXPECT_EQ(e->model.global_batch, 65536);
}

}  // namespace
}  // namespace distsim::config
