// The helper that finds measured data: full sets first, a sample for a set that is absent, and never a quiet nothing.
#include "test_data.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace distsim::test {
namespace {

class TestData : public testing::Test {
 protected:
  TestData() {
    if (const char* named = std::getenv("DISTSIM_TEST_DATA")) before_ = named;
    ::setenv("DISTSIM_TEST_DATA", folder_.c_str(), 1);
  }
  ~TestData() override {
    if (before_.empty())
      ::unsetenv("DISTSIM_TEST_DATA");
    else
      ::setenv("DISTSIM_TEST_DATA", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void put(const std::string& relative) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + relative).parent_path());
    std::ofstream(folder_ + "/" + relative) << "x";
  }

  const std::string folder_ = scratch_dir("test_data");
  std::string before_;
};

TEST_F(TestData, AnEmptyFolderMeansTheSamples) {
  EXPECT_TRUE(is_sample("collectives/index.csv"));
  EXPECT_EQ(data("collectives/index.csv"), root() + "/tests/data/collectives/index.csv");
  EXPECT_EQ(data("ops/conv2d.csv.gz"), root() + "/tests/data/ops/conv2d.csv");
}

TEST_F(TestData, ASetIsTakenAsAWhole) {
  put("collectives/index.csv");
  EXPECT_FALSE(is_sample("collectives/index.csv"));
  EXPECT_EQ(data("collectives/index.csv"), folder_ + "/collectives/index.csv");
  EXPECT_THROW(data("collectives/h20_2n4g_alltoall.txt"), std::runtime_error);  // the sample has it, this set has not
  EXPECT_TRUE(is_sample("ops/conv2d.csv.gz"));
}

TEST_F(TestData, WhatNobodyHasIsAnError) {
  EXPECT_THROW(data("collectives/none.txt"), std::runtime_error);
  EXPECT_THROW(data("none/at_all.csv"), std::runtime_error);
}

}  // namespace
}  // namespace distsim::test
