// Every system that is shipped, with the curves that are shipped: all load, and every kind of collective has a price on
// one node and, where there is a network, on two.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/config/config_node.hpp"
#include "collective_fixture.hpp"
#include "collectives/curves/curve_library.hpp"
#include "topology/devices/device_spec.hpp"

namespace distsim::collectives {
namespace {

std::vector<std::string> shipped_systems() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::config("systems"))) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

topology::Topology nodes_of(const std::string& system) {
  topology::ClusterSpec spec = read_config("systems/" + system + ".yaml", topology::cluster_schema());
  const topology::DeviceSpec device = read_config("devices/" + spec.device + ".yaml", topology::device_schema());
  spec.nodes = std::max<std::int64_t>(spec.nic.count > 0 ? 2 : 1,
                                      spec.gpu_links.domain_nodes);  // without a network there is one node
  auto t = topology::Topology::build(spec, device.compute_capability);
  EXPECT_TRUE(t.ok()) << system << ": " << t.error().text();
  return *t;
}

TEST(ShippedSystems, AllPriceEveryCollective) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  for (const std::string& system : shipped_systems()) {
    const topology::Topology t = nodes_of(system);
    const CollectiveModels models = models_of(t, options);
    for (std::uint32_t nodes : {1u, 2u}) {
      const std::uint32_t ranks = nodes * t.gpus_per_node();
      if (ranks < 2 || nodes > t.nodes()) continue;
      for (graph::CollectiveKind kind : kAllKinds) {
        for (std::int64_t bytes : {std::int64_t{8}, std::int64_t{1} << 20, std::int64_t{1} << 30}) {
          auto cost = models.price(op_of(kind, bytes), t.facts(first_ranks(ranks)));
          ASSERT_TRUE(cost.ok()) << system << " " << graph::name_of(kind) << ": " << cost.error().text();
          EXPECT_GT(cost->mean.us(), 2) << system << " " << graph::name_of(kind) << " " << bytes;
          EXPECT_LT(cost->mean.us(), 2e6) << system << " " << graph::name_of(kind) << " " << bytes;
          EXPECT_FALSE(cost->source.empty());
        }
      }
    }
  }
}

/// load_curves holds every curve against the links of the system that it is of.
TEST(ShippedSystems, CurvesNameSystemsThatExist) {
  const auto systems = shipped_systems();
  std::size_t served = 0;
  for (const std::string& system : systems) {
    CollectiveOptions options;
    options.curve_dirs = {test::config("curves")};
    auto library = collectives::load_curves(nodes_of(system), options);
    ASSERT_TRUE(library.ok()) << system << ": " << library.error().text();
    served += library->empty() ? 0 : 1;
  }
  EXPECT_GT(served, 20u);
  for (const auto& entry : std::filesystem::directory_iterator(test::config("curves"))) {
    if (entry.path().extension() != ".txtpb") continue;
    auto set = collectives::read_curve_file(entry.path().string());
    ASSERT_TRUE(set.ok());
    for (const std::string& name : set->also_for)
      EXPECT_TRUE(std::binary_search(systems.begin(), systems.end(), name)) << entry.path() << " names " << name;
    for (const std::string& name : set->same_network)
      EXPECT_TRUE(std::binary_search(systems.begin(), systems.end(), name)) << entry.path() << " names " << name;
  }
}

/// Of a system with other GPUs behind the same NICs: across nodes only, with the links that were measured.
TEST(ShippedSystems, CurvesOfTheSameNetworkKeepTheirOwnLinks) {
  CollectiveOptions options;
  options.curve_dirs = {test::config("curves")};
  const auto library = collectives::load_curves(nodes_of("dgx_b200"), options);
  ASSERT_TRUE(library.ok()) << library.error().text();
  const auto own = std::ranges::find_if(*library, [](const LibraryCurve& c) { return is_own(c.origin); });
  ASSERT_NE(own, library->end());
  std::size_t others = 0;
  for (const LibraryCurve& c : *library) {
    if (c.origin != Origin::same_network) continue;
    ++others;
    EXPECT_GT(c.facts.nodes, 1u);
    EXPECT_LT(c.facts.intra_bandwidth, own->facts.intra_bandwidth) << "NVLink of the H100s";
    EXPECT_LT(c.facts.compute_capability, own->facts.compute_capability);
    EXPECT_NEAR(c.calibration.bandwidth, 1, 0.3) << "against the model of their own system";
  }
  EXPECT_GT(others, 0u);
}

}  // namespace
}  // namespace distsim::collectives
