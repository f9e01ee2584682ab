#include "topology/devices/device_names.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace distsim::topology
