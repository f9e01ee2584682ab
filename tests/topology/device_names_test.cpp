#include "topology/devices/device_names.hpp"

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "shipped.hpp"

namespace distsim::topology {
namespace {

const std::vector<std::string> kDevices{"a100_sxm4_80gb", "v100_sxm2_32gb",      "h100_sxm5_80gb", "h200_sxm", "gh200",
                                        "rtx_4090",       "v100_sxm3_32gb_450w", "h20_3e",         "t4",       "l40s"};

TEST(OtherChip, NamesTheChipThatIsNotTheDevices) {
  EXPECT_EQ(other_chip("Tesla V100-SXM2-32GB", "h100_sxm5_80gb", kDevices), "v100");
  EXPECT_EQ(other_chip("NVIDIA H200", "h100_sxm5_80gb", kDevices), "h200");
  EXPECT_EQ(other_chip("NVIDIA GH200 120GB", "h200_sxm", kDevices), "gh200");
  EXPECT_EQ(other_chip("NVIDIA GeForce RTX 4090", "t4", kDevices), "4090");
}

TEST(OtherChip, TheSameChipOnAnyBoardIsNoOther) {
  EXPECT_EQ(other_chip("NVIDIA A100-PCIE-40GB", "a100_sxm4_80gb", kDevices), "");
  EXPECT_EQ(other_chip("NVIDIA H100 80GB HBM3", "h100_sxm5_80gb", kDevices), "");
  EXPECT_EQ(other_chip("NVIDIA H20-3e", "h20_3e", kDevices), "");
}

TEST(OtherChip, WordsOfPeopleContradictNothing) {
  EXPECT_EQ(other_chip("", "h100_sxm5_80gb", kDevices), "");
  EXPECT_EQ(other_chip("2 nodes of 8 GPUs, 8 x HDR 200 Gb/s, EPYC 7742", "h100_sxm5_80gb", kDevices), "");
  EXPECT_EQ(other_chip("H100 and T4 nodes", "h100_sxm5_80gb", kDevices), "");
  EXPECT_EQ(other_chip("NVIDIA X999", "h100_sxm5_80gb", kDevices), "");
  EXPECT_EQ(other_chip("NVIDIA T4", "my_gpu", kDevices), "");
}

/// Pairs of one name that begins or ends with the other: H200 is no H20, GH200 no H200.
TEST(IsOtherGpu, ANameInsideALongerOneIsNotIt) {
  EXPECT_TRUE(is_other_gpu("NVIDIA H200", "h20_3e"));
  EXPECT_TRUE(is_other_gpu("NVIDIA GH200 480GB", "h200_sxm"));
  EXPECT_TRUE(is_other_gpu("NVIDIA GB200", "b200"));
  EXPECT_TRUE(is_other_gpu("NVIDIA GB300", "b300"));
  EXPECT_TRUE(is_other_gpu("NVIDIA L40S", "l4"));
  EXPECT_TRUE(is_other_gpu("Tesla P40", "p4"));
  EXPECT_TRUE(is_other_gpu("NVIDIA RTX A6000", "rtx_4090"));
  EXPECT_TRUE(is_other_gpu("NVIDIA RTX A6000", "rtx_pro_6000"));
  EXPECT_TRUE(is_other_gpu("NVIDIA GeForce RTX 2080 Ti", "rtx_6000d"));
  EXPECT_TRUE(is_other_gpu("NVIDIA A100-PCIE-40GB", "a100_sxm4_80gb"));
  EXPECT_TRUE(is_other_gpu("NVIDIA A100-SXM4-40GB", "a100_pcie_40gb"));
  EXPECT_TRUE(is_other_gpu("NVIDIA H100 PCIe", "h100_sxm5_80gb"));
}

TEST(IsOtherGpu, DriversWriteANameInSeveralWays) {
  EXPECT_FALSE(is_other_gpu("NVIDIA H20", "h20_3e"));
  EXPECT_FALSE(is_other_gpu("NVIDIA H20-3e", "h20_3e"));
  EXPECT_FALSE(is_other_gpu("NVIDIA GeForce RTX 2080 Ti", "rtx_2080_ti"));
  EXPECT_FALSE(is_other_gpu("NVIDIA GeForce RTX 2080 Ti", "rtx_2080ti"));
  EXPECT_FALSE(is_other_gpu("GeForce RTX2080Ti", "rtx_2080_ti"));
  EXPECT_FALSE(is_other_gpu("NVIDIA RTX 6000D", "rtx_6000d"));
  EXPECT_FALSE(is_other_gpu("NVIDIA DGXA100", "a100_sxm4_80gb"));
  EXPECT_FALSE(is_other_gpu("AMD Instinct MI300X OAM", "mi300x"));
  EXPECT_FALSE(is_other_gpu("NVIDIA GH200 480GB", "gh200"));
  EXPECT_FALSE(is_other_gpu("NVIDIA TITAN Xp", "titan_xp"));
  EXPECT_FALSE(is_other_gpu("8 GPUs on NVSwitch", "h100_sxm5_80gb"));  // words of people
}

TEST(IsOtherGpu, AnotherBoardOrLettersMakeAnother) {
  EXPECT_TRUE(is_other_gpu("NVIDIA H100 NVL", "h100_pcie"));
  EXPECT_TRUE(is_other_gpu("NVIDIA H100 NVL", "h100_sxm5_80gb"));
  EXPECT_TRUE(is_other_gpu("Tesla V100-SXM3-32GB", "v100_sxm2_32gb"));
  EXPECT_TRUE(is_other_gpu("Tesla V100S-PCIE-32GB", "v100_pcie_32gb"));
  EXPECT_TRUE(is_other_gpu("NVIDIA A100X", "a100_pcie_80gb"));
  EXPECT_TRUE(is_other_gpu("NVIDIA L40S", "l40"));
  EXPECT_FALSE(is_other_gpu("NVIDIA A100SXM4-80GB", "a100_sxm4_80gb"));
  EXPECT_FALSE(is_other_gpu("NVIDIA A100-SXM-64GB", "a100_sxm4_80gb"));
  EXPECT_FALSE(is_other_gpu("NVIDIA H100 on NVLink", "h100_pcie"));
}

KnownDevices shipped_devices() {
  std::vector<std::string> files;
  for (const std::string& name : shipped("devices")) files.push_back(test::config("devices/" + name + ".yaml"));
  return KnownDevices(files);
}

TEST(NamesOtherGpu, AKnownNameIsThatOfItsDevice) {
  const KnownDevices known = shipped_devices();
  const auto other = [&](std::string_view text, std::string_view device) {
    return names_other_gpu(text, device, known);
  };
  for (const auto& [text, device] : {std::pair("NVIDIA H100 80GB HBM3", "h100_pcie"),
                                     {"NVIDIA H100 80GB HBM3", "h100_nvl"},
                                     {"NVIDIA H200", "h200_nvl"},
                                     {"NVIDIA H200 NVL", "h200_sxm"},
                                     {"NVIDIA A100-PG509-200", "a100_pcie_40gb"},
                                     {"NVIDIA B200 NVL", "b200"},
                                     {"Tesla V100-DGXS-32GB", "v100_sxm2_32gb"},
                                     {"A100-SXM4-40GB", "a100_pcie_40gb"}})
    EXPECT_TRUE(other(text, device)) << text << " for " << device;
  // Other memory on the same board has the same links; and a name that leaves the board out is that of any.
  for (const auto& [text, device] : {std::pair("NVIDIA A100-SXM4-40GB", "a100_sxm4_80gb"),
                                     {"Tesla V100-SXM2-16GB", "v100_sxm2_32gb"},
                                     {"NVIDIA H20", "h20_3e"},
                                     {"NVIDIA GH200 480GB", "gh200_144gb"},
                                     {"P100", "p100_pcie_16gb"},
                                     {"A100-80GB", "a100_pcie_80gb"},
                                     {"NVIDIA H100 80GB HBM3", "my_gpu"},
                                     {"NVIDIA H100 80GB HBM3", "my_h100"},
                                     {"8 x H100 80GB HBM3, PCIe hosts", "h100_sxm5_80gb"},
                                     {"", "h100_pcie"}})
    EXPECT_FALSE(other(text, device)) << text << " for " << device;
}

TEST(NamesOtherGpu, EachDeviceIsCalledByItsNames) {
  const KnownDevices known = shipped_devices();
  for (const std::string& name : known.names()) {
    const DeviceSpec device = read_device(name).value();
    std::vector<std::string> all = device.aliases;
    all.push_back(name);
    for (const std::string& called : all) {
      for (const std::string& text : {called, "NVIDIA " + called}) {
        EXPECT_FALSE(names_other_gpu(text, name, known)) << text << " for " << name;
        EXPECT_FALSE(is_known_as_other(device, text, known)) << text << " for " << name;
      }
    }
  }
}

TEST(IsKnownAsOther, MemoryCounts) {
  const KnownDevices known = shipped_devices();
  DeviceSpec device = read_device("a100_sxm4_80gb").value();
  EXPECT_TRUE(is_known_as_other(device, "NVIDIA A100-SXM4-40GB", known));
  EXPECT_FALSE(is_known_as_other(device, "NVIDIA A100-SXM4-80GB", known));
  EXPECT_FALSE(is_known_as_other(device, "NVIDIA A100-SXM4-80GB MIG 3g.40gb", known));
  device.aliases.clear();  // a copy that does not say what it is called
  EXPECT_FALSE(is_known_as_other(device, "NVIDIA A100-SXM4-40GB", known));
  EXPECT_TRUE(is_known_as_other(read_device("h100_pcie").value(), "NVIDIA H100 80GB HBM3", known));
}

TEST(MayBeGpu, AsksTextOfAnyKind) {
  EXPECT_TRUE(may_be_gpu("a100_sxm4_40gb", "a100_sxm4_80gb"));
  EXPECT_TRUE(may_be_gpu("NVIDIA TITAN Xp", "titan_xp"));
  EXPECT_FALSE(may_be_gpu("a100_pcie_40gb", "a100_sxm4_80gb"));
  EXPECT_FALSE(may_be_gpu("h200_sxm", "h20_3e"));
  EXPECT_FALSE(may_be_gpu("host memory", "a100_sxm4_80gb"));
}

TEST(NormalGpuName, LeavesOutWhatDriversAndPeopleWriteInSeveralWays) {
  for (const char* name : {"NVIDIA H100 PCIe", "H100-PCIe", "h100_pcie", "nvidia_H100-PCIE", "NVIDIA-H100-PCIe"})
    EXPECT_EQ(normal_gpu_name(name), "h100pcie") << name;
  EXPECT_EQ(normal_gpu_name("NVIDIA GeForce RTX 4090"), normal_gpu_name("rtx_4090"));
  EXPECT_EQ(normal_gpu_name("AMD Instinct MI300X"), "mi300x");
  EXPECT_EQ(normal_gpu_name("Tesla T4"), "t4");
  EXPECT_NE(normal_gpu_name("Quadro RTX 6000"), normal_gpu_name("NVIDIA RTX 6000"));
  EXPECT_EQ(normal_gpu_name("Teslar T4"), "teslart4");  // only whole words are left out
  EXPECT_EQ(normal_gpu_name("NVIDIA"), "nvidia");
  EXPECT_EQ(normal_gpu_name(" - "), "");
}

TEST(NamesDevice, AsksForTheNameOrAnAlias) {
  DeviceSpec device;
  device.name = "a100_sxm4_80gb";
  device.aliases = {"A100-SXM-80GB"};
  for (const char* name : {"A100_SXM4_80GB", "NVIDIA A100-SXM4-80GB", "a100 sxm 80gb"})
    EXPECT_TRUE(names_device(device, name));
  for (const char* name : {"NVIDIA A100-SXM4-40GB", "NVIDIA A100", "A100", "", "NVIDIA ", "NVIDIA A800-SXM4-80GB"})
    EXPECT_FALSE(names_device(device, name)) << name;
}

/// A slice or a virtual GPU has the name of the whole one within its own.
TEST(NamesOtherGpu, APartOfAGpuIsNotTheWhole) {
  const KnownDevices known = shipped_devices();
  for (const auto& [text, device] : {std::pair("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "a100_sxm4_80gb"),
                                     {"NVIDIA H100 80GB HBM3 MIG 7g.80gb", "h100_sxm5_80gb"},
                                     {"A100-SXM4-80GB MIG 1g.10gb+me", "a100_sxm4_80gb"},
                                     {"GRID A100X-8C", "a100_pcie_80gb"},
                                     {"GRID A100-3-20C", "a100_pcie_40gb"},
                                     {"GRID T4-1B4", "t4"},
                                     {"NVIDIA A40-48Q", "a40"},
                                     {"NVIDIA A100-1-5C", "a100_pcie_40gb"},
                                     {"NVIDIA A100-1-5CME", "a100_pcie_40gb"},
                                     {"GRID A100D-1-10CME", "a100_pcie_80gb"},
                                     {"NVIDIA A100-40C-NC", "a100_pcie_40gb"},
                                     {"NVIDIA L40S-24C", "l40s"}}) {
    EXPECT_TRUE(is_part_of_gpu(text)) << text;
    EXPECT_TRUE(names_other_gpu(text, device, known)) << text << " for " << device;
  }
  for (const char* text :
       {"NVIDIA A100-PG509-200", "Tesla V100-DGXS-32GB", "NVIDIA H20-3e", "NVIDIA GH200 480GB",
        "8 x A100 on 2 nodes, MIG off", "AMD Instinct MI300X", "EPYC 7742, BlueField-2A, A100-80GB", ""})
    EXPECT_FALSE(is_part_of_gpu(text)) << text;
  for (const std::string& name : known.names()) {
    const DeviceSpec device = read_device(name).value();
    for (const std::string& alias : device.aliases) EXPECT_FALSE(is_part_of_gpu("NVIDIA " + alias)) << alias;
  }
}

/// What a list of ranks says are no words of people: a name without the chip's is that of another.
TEST(IsListedAsOther, ANameWithoutTheChipsWords) {
  const KnownDevices known = shipped_devices();
  for (const char* text : {"Intel(R) Data Center GPU Max 1550", "Intel Data Center GPU Max 1550", "Orin",
                           "Intel Gaudi3", "MI300A", "gfx942", "Radeon Instinct MI60", "Ascend910B",
                           "NVIDIA A100-1-5CME", "NVIDIA H100 80GB HBM3", "xpu:0", "XA100", "GPU 4090"})
    EXPECT_TRUE(is_listed_as_other(text, "a100_sxm4_80gb", known)) << text;
  for (const char* text :
       {"NVIDIA A100-SXM4-80GB", "A100-SXM-64GB", "NVIDIA DGXA100", "A100", "Graphics Device", "CUDA Device",
        "CUDA device 0", "GPU", "NVIDIA Graphics Device", "PG509-210", "NVIDIA PG506-230", ""})
    EXPECT_FALSE(is_listed_as_other(text, "a100_sxm4_80gb", known)) << text;
  for (const char* text :
       {"AMD Radeon Graphics", "Device 74a1", "AMD Device", "amd device", "AMD Instinct MI300X VF"}) {
    EXPECT_FALSE(is_listed_as_other(text, "mi300x", known)) << text;
    EXPECT_EQ(is_listed_as_other(text, "a100_sxm4_80gb", known), std::string_view(text) != "Device 74a1") << text;
  }
  // An instruction set is that of several GPUs of AMD's.
  EXPECT_FALSE(is_listed_as_other("gfx942:sramecc+:xnack-", "mi300x", known));
  EXPECT_TRUE(is_listed_as_other("MI300A", "mi300x", known));
  // A device that bears no chip's name may be anything.
  EXPECT_FALSE(is_listed_as_other("Orin", "my_gpu", known));
  // Whoever calls a device so is believed.
  const std::string file = test::scratch_dir("lab_device") + "/lab_card.yaml";
  ASSERT_TRUE(write_file_atomically(file, "name: lab_card\naliases: [L40S-LAB, NVIDIA L40S]\n").ok());
  EXPECT_FALSE(is_listed_as_other("NVIDIA L40S", "lab_card", KnownDevices({file})));
}

TEST(IsListedAsOther, EachDeviceIsCalledByItsNames) {
  const KnownDevices known = shipped_devices();
  for (const std::string& name : known.names()) {
    std::vector<std::string> all = read_device(name).value().aliases;
    all.push_back(name);
    for (const std::string& called : all) {
      for (const std::string& text : {called, "NVIDIA " + called})
        EXPECT_FALSE(is_listed_as_other(text, name, known)) << text << " for " << name;
    }
  }
}

TEST(NamesOtherGpu, ADeviceMayBeAPartOfAGpu) {
  const std::string file = test::scratch_dir("mig_device") + "/a100_slice.yaml";
  ASSERT_TRUE(write_file_atomically(file, "name: a100_slice\naliases: [A100-SXM4-80GB MIG 1g.10gb]\n").ok());
  const KnownDevices known({file});
  EXPECT_FALSE(names_other_gpu("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "a100_slice", known));
  EXPECT_TRUE(names_other_gpu("NVIDIA A100-SXM4-80GB MIG 2g.20gb", "a100_slice", known));
}

}  // namespace
}  // namespace distsim::topology
