#include "sim/study/points/team.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace distsim::study {
namespace {

/// The environment that launchers leave, with nothing else of theirs.
class LaunchedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : kNames) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static void set(const std::map<std::string, std::string>& values) {
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static constexpr const char* kNames[] = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK",           "PMI_RANK", "PMI_SIZE",
      "SLURM_PROCID",         "SLURM_NTASKS",         "SLURM_STEP_NUM_TASKS"};
  std::map<std::string, std::string> before_;
};

TEST_F(LaunchedTest, NoLauncherIsNone) {
  EXPECT_FALSE(launched());
  const auto team = join_team();
  ASSERT_TRUE(team.ok());
  EXPECT_EQ(*team, nullptr);
}

TEST_F(LaunchedTest, EachLauncherIsKnown) {
  set({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "3"}});
  ASSERT_TRUE(launched());
  EXPECT_EQ(launched()->rank, 3);
  EXPECT_EQ(launched()->size, 4);
  EXPECT_TRUE(launched()->knows_others);
  ::unsetenv("PMIX_RANK");
  set({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  ASSERT_TRUE(launched());
  EXPECT_EQ(launched()->size, 2);
  EXPECT_TRUE(launched()->knows_others);
}

/// Else each of them would do all the work and write the same files.
TEST_F(LaunchedTest, SrunWithoutMpiIsRefused) {
  set({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  ASSERT_TRUE(launched());
  EXPECT_FALSE(launched()->knows_others);
  const auto team = join_team();
  ASSERT_FALSE(team.ok());
  EXPECT_NE(team.error().text().find("4 processes that srun started without MPI"), std::string::npos);
  EXPECT_NE(team.error().text().find("srun --mpi=pmix"), std::string::npos);
}

/// The script of a batch job, and srun -n 1.
TEST_F(LaunchedTest, AloneInAnAllocationIsAlone) {
  set({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_FALSE(launched());
  set({{"SLURM_STEP_NUM_TASKS", "1"}});
  EXPECT_FALSE(launched());
}

/// mpirun starts its helpers on other nodes with srun, one a node, and their environment reaches what they start.
TEST_F(LaunchedTest, MpirunWithinSrunDecides) {
  set({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"PMIX_RANK", "0"}});
  set({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_FALSE(launched());
  set({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}});
  ASSERT_TRUE(launched());
  EXPECT_EQ(launched()->rank, 5);
  EXPECT_EQ(launched()->size, 8);
}

}  // namespace
}  // namespace distsim::study
