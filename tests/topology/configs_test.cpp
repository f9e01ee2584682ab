// Every system and device that ships: loads, is what its file name says, and holds the sanity rules that slips would
// break.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "shipped.hpp"
#include "test_data.hpp"
#include "topology/devices/device_doubts.hpp"
#include "topology/devices/device_names.hpp"

namespace distsim::topology {
namespace {

class Device : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shipped, Device, testing::ValuesIn(shipped("devices")), [](const auto& p) { return p.param; });

TEST_P(Device, LoadsAndIsConsistent) {
  const auto loaded = read_device(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  const DeviceSpec& d = *loaded;
  EXPECT_EQ(d.name, GetParam());
  EXPECT_FALSE(d.source.empty());
  // Half precision on tensor cores is at least as fast as fp32, fp8 twice as fast as fp16, bf16 equal to fp16.
  const auto rate = [&d](const std::string& type) { return d.peak.contains(type) ? d.peak.at(type).value() : 0; };
  EXPECT_TRUE(rate("fp16") == 0 || rate("fp16") >= rate("fp32"));
  const bool first_matrix_cores = d.compute_capability == 91 || d.compute_capability == 92;  // CDNA and CDNA2
  EXPECT_TRUE(rate("bf16") == 0 || rate("bf16") == rate("fp16") || d.compute_capability == 91) << "half of it on CDNA";
  EXPECT_TRUE(rate("fp8") == 0 || std::abs(rate("fp8") / rate("fp16") - 2) < 0.05);
  EXPECT_TRUE(rate("fp4") == 0 || rate("fp4") >= 1.99 * rate("fp8"));
  EXPECT_EQ(d.peak.contains("tf32"), d.compute_capability >= 80 && d.compute_capability != 95 && !first_matrix_cores)
      << "of AMD's, only CDNA3 has it";
  EXPECT_EQ(d.is_amd(), d.architecture.starts_with("cdna"));
  EXPECT_EQ(d.peak.contains("fp8"), d.compute_capability >= 89 && !first_matrix_cores);
  // fp32 rate = SMs x lanes x 2 x boost, 128 lanes but for 64 on GP100, V100, T4, A100, A30, CDNA and CDNA2. H20's vector rate is
  // not cut.
  const bool narrow = d.compute_capability == 60 || d.compute_capability == 70 || d.compute_capability == 75 ||
                      d.compute_capability == 80 || first_matrix_cores;
  const double lanes = narrow ? 64 : 128;
  const double fp32 = static_cast<double>(d.sm_count) * lanes * 2 * d.clock.boost.value();
  EXPECT_NEAR(d.peak.at("vector_fp32").value() / fp32, 1.0, 0.13) << "expected about " << fp32 / 1e12 << " TFLOP/s";
}

class System : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Shipped, System, testing::ValuesIn(shipped("systems")), [](const auto& p) { return p.param; });

TEST_P(System, LoadsAndItsDeviceExists) {
  const auto loaded = read_system(GetParam());
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(loaded->name, GetParam());
  EXPECT_FALSE(loaded->description.empty());
  EXPECT_FALSE(loaded->source.empty());
  const auto device = read_device(loaded->device);
  ASSERT_TRUE(device.ok()) << device.error().text();
}

TEST_P(System, BandwidthsArePerDirection) {
  const ClusterSpec s = read_system(GetParam()).value();
  // Per direction, an NVLink carries 20 (P100), 25 (V100 to H100) or 50 GB/s (B200), Infinity Fabric 64 (MI300) or 76.8
  // (MI350); a port at most 50 GB/s; a
  // gen3/4/5/6 x16 link less than 16/32/64/128.
  if (s.gpu_links.has_nvlink()) {
    EXPECT_TRUE((std::set<double>{20e9, 25e9, 50e9, 64e9, 76.8e9}.contains(s.gpu_links.bandwidth_per_link.value())));
  }
  EXPECT_LE(s.nic.bandwidth.value(), 50e9);
  EXPECT_LT(s.pcie.bandwidth.value(), s.pcie.generation == 3   ? 16e9
                                      : s.pcie.generation == 4 ? 32e9
                                      : s.pcie.generation == 5 ? 64e9
                                                               : 128e9);
}

TEST(Names, AliasesAreUniqueAndNotNames) {
  std::map<std::string, std::string> owner;  // of devices, in the form in which they are compared
  for (const auto& n : shipped("devices")) EXPECT_TRUE(owner.emplace(normal_gpu_name(n), n).second) << n;
  for (const auto& n : shipped("devices")) {
    const DeviceSpec d = read_device(n).value();
    for (const auto& alias : d.aliases) EXPECT_EQ(owner.emplace(normal_gpu_name(alias), n).first->second, n) << alias;
  }
  std::set<std::string> seen;  // a system may bear the name of its device
  for (const auto& n : shipped("systems")) EXPECT_TRUE(seen.insert(n).second) << n;
  for (const auto& n : shipped("systems")) {
    const ClusterSpec c = read_system(n).value();
    for (const auto& alias : c.aliases) EXPECT_TRUE(seen.insert(alias).second) << n << ": " << alias;
  }
}

/// Every GPU of language-model clusters has a server, which holds that GPU or one like it, and the server exists. Slots of
/// plain PCIe servers take any card.
TEST(Names, ServersExistAndHoldTheirGpus) {
  const auto systems = shipped("systems");
  std::size_t with_server = 0;
  for (const auto& n : shipped("devices")) {
    const DeviceSpec d = read_device(n).value();
    if (d.server.empty()) continue;
    ++with_server;
    ASSERT_TRUE(std::binary_search(systems.begin(), systems.end(), d.server)) << n << ": " << d.server;
    const DeviceSpec inside = read_device(read_system(d.server).value().device).value();
    if (!d.server.starts_with("pcie_")) {
      EXPECT_EQ(inside.compute_capability, d.compute_capability) << n << " in " << d.server;
    }
  }
  EXPECT_GE(with_server, 25u);
}

TEST(Names, EverySystemOfLanguageModelsShips) {
  for (const char* name : {"dgx_b300", "gb200_nvl72", "gb300_nvl72", "gh200_nvl", "hgx_a800", "hgx_h800", "mi300x_8x",
                           "mi325x_8x", "mi350x_8x", "mi355x_8x", "ovx_l40s"})
    EXPECT_TRUE(read_system(name).ok()) << name;
}

TEST(Names, EverySystemOfTheCasesShips) {
  std::ifstream in(test::data("iteration_times/core_visible.csv"));
  std::string line;
  std::getline(in, line);
  std::set<std::string> ids;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string cell;
    for (int i = 0; i < 4; ++i) std::getline(cells, cell, ',');  // case_id, model_id, framework_id, system_id
    ids.insert(cell);
  }
  ASSERT_GE(ids.size(), 10u);
  const auto names = shipped("systems");
  for (const auto& id : ids) EXPECT_TRUE(std::binary_search(names.begin(), names.end(), id)) << id;
}

/// What-ifs of ordinary factors are not remarked on, slips of a digit are.
TEST(DeviceDoubts, NoneOfShippedDevicesAndOrdinaryWhatIfs) {
  for (const std::string& name : shipped("devices")) {
    DeviceSpec d = read_device(name).value();
    EXPECT_EQ(device_doubts(d), std::vector<std::string>{}) << name;
    for (auto& [type, rate] : d.peak) rate = FlopsPerSecond(rate.value() * 2);
    d.sm_count = std::max<std::int64_t>(1, d.sm_count * 3 / 4);
    d.power_limit = Watts(d.power_limit.value() * 2);
    EXPECT_EQ(device_doubts(d), std::vector<std::string>{}) << name;
    for (auto& [type, rate] : d.peak) rate = FlopsPerSecond(rate.value() * 10);
    EXPECT_EQ(device_doubts(d).size(), 1u) << name;
  }
}

/// A matrix rate that a unit is missing of: 312 GFLOP/s are less than the plain lanes of an A100 do.
TEST(DeviceDoubts, RatesBelowThatOfPlainLanes) {
  for (const std::string& name : shipped("devices")) {
    DeviceSpec d = read_device(name).value();
    if (d.compute_capability < 70 || !d.peak.contains("fp16")) continue;
    d.peak.at("fp16") = FlopsPerSecond(d.peak.at("fp16").value() / 4);
    EXPECT_EQ(device_doubts(d), std::vector<std::string>{}) << name;
    d.peak.at("fp16") = FlopsPerSecond(d.peak.at("fp16").value() * 4 / 1000);
    ASSERT_EQ(device_doubts(d).size(), 1u) << name;
    EXPECT_NE(device_doubts(d)[0].find("device.peak.fp16"), std::string::npos) << device_doubts(d)[0];
    EXPECT_NE(device_doubts(d)[0].find("SMs reach without matrix units"), std::string::npos) << device_doubts(d)[0];
  }
}

/// Of an A100 80 W go to what does not depend on the clock, so that no clock keeps a limit below that.
TEST(DeviceDoubts, PowerLimitsThatNoClockKeeps) {
  DeviceSpec d = read_device("a100_sxm4_80gb").value();
  for (const double watts : {1.0, 79.0}) {
    d.power_limit = Watts(watts);
    ASSERT_EQ(device_doubts(d).size(), 1u) << watts;
    EXPECT_NE(
        device_doubts(d)[0].find("device.power_limit " + std::to_string(static_cast<int>(watts)) + " W would need"),
        std::string::npos)
        << device_doubts(d)[0];
  }
  d.power_limit = Watts(82);
  EXPECT_EQ(device_doubts(d), std::vector<std::string>{});
  d.power_limit = Watts(79);
  d.clock.locked = Hertz(1e6);  // slower than any limit makes it
  EXPECT_EQ(device_doubts(d), std::vector<std::string>{});
}

TEST(DeviceDoubts, ArchitecturesThatAreNearlyKnown) {
  for (const auto& [name, near] : {std::pair("amper", "ampere"), {"Hoper", "hopper"}, {"blackwel", "blackwell"}})
    EXPECT_EQ(misspelt_architecture(name), near);
  for (const char* known : {"ampere", "Ampere", "rubin", "feynman", "rdna3", "cdna5", "hopper2", "vega", "gaudi", "",
                            "ada_lovelace", "blackwell_ultra", "xe"})
    EXPECT_EQ(misspelt_architecture(known), "") << known;
}

}  // namespace
}  // namespace distsim::topology
