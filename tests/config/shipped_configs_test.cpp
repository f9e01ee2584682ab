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
