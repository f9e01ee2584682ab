#include "sim/study/random_dlrm.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/config/config.hpp"
#include "sim/workload/workload.hpp"

namespace distsim::study {
namespace {

RandomDlrmRequest random_request(std::int64_t gpus, std::uint32_t tasks) {
  RandomDlrmRequest r;
  r.system = "dgx_a100_80gb";
  r.cluster = *config::load_system(r.system);
  r.device = *config::load_device(r.cluster.device);
  r.cluster.gpus_per_node = gpus;
  r.tasks = tasks;
  return r;
}

config::Experiment experiment_of(const RandomDlrm& task) {
  const auto parsed = config::parse_experiment_text(task.experiment, task.name + ".yaml", {});
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  auto e = config::resolve(*parsed);
  EXPECT_TRUE(e.ok()) << e.error().text();
  return *std::move(e);
}

/// 9.1 and 16.9 tables for each of 4 GPUs: 36 to 66; half of the tasks heavy; four fifths of the memory.
TEST(RandomDlrm, StaysWithinThePublishedRanges) {
  const RandomDlrmRequest request = random_request(4, 40);
  const auto tasks = random_dlrms(request);
  ASSERT_TRUE(tasks.ok()) << tasks.error().text();
  std::size_t heavy = 0, least = 1000, most = 0;
  for (const RandomDlrm& task : *tasks) {
    heavy += task.heavy;
    EXPECT_EQ(task.mean_pooling >= 20, task.heavy);
    least = std::min(least, task.tables);
    most = std::max(most, task.tables);
    EXPECT_LE(static_cast<double>(task.bytes), 0.8 * 4 * static_cast<double>(request.device.hbm.capacity.value()));
  }
  EXPECT_EQ(heavy, 20u);
  EXPECT_GE(least, 36u);
  EXPECT_LE(most, 66u);
  EXPECT_GT(most - least, 10u) << "40 draws of 31 numbers";
}

TEST(RandomDlrm, TheSeedDecidesAndTasksDoNotDependOnTheirNumber) {
  RandomDlrmRequest request = random_request(4, 3);
  const auto three = *random_dlrms(request);
  request.tasks = 6;
  const auto six = *random_dlrms(request);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(three[i].experiment, six[i].experiment);
  request.seed = 2;
  EXPECT_NE((*random_dlrms(request))[0].experiment, three[0].experiment);
}

TEST(RandomDlrm, EveryTaskIsAnExperimentWhoseTablesFit) {
  for (const bool mixed : {false, true}) {
    RandomDlrmRequest request = random_request(4, 10);
    request.mixed_widths = mixed;
    const std::vector<RandomDlrm> tasks = *random_dlrms(request);
    for (const RandomDlrm& task : tasks) {
      const config::Experiment e = experiment_of(task);
      const workload::ClusterShape shape{1, 4, e.device.hbm.capacity - e.device.reserved_memory};
      const auto w = workload::build_workload(e.model, e.framework, shape);
      EXPECT_TRUE(w.ok()) << task.name << ": " << w.error().text();
    }
  }
}

TEST(RandomDlrm, DrawsFromAPoolWithoutReplacement) {
  RandomDlrmRequest request = random_request(1, 2);
  std::istringstream csv(
      "id,rows,pooling_factor\n0,101,1\n1,102,50\n2,103,1\n3,104,50\n4,105,1\n5,106,50\n6,107,1\n"
      "7,108,50\n8,109,1\n9,110,50\n10,111,1\n11,112,50\n12,113,1\n13,114,50\n14,115,1\n15,116,50\n");
  request.pool = *read_table_pool(csv, "pool.csv");
  ASSERT_EQ(request.pool.size(), 16u);
  const std::vector<RandomDlrm> tasks = *random_dlrms(request);
  for (const RandomDlrm& task : tasks) {
    for (int rows = 101; rows <= 116; ++rows) {
      const std::string key = "{rows: " + std::to_string(rows) + ",";
      const std::size_t at = task.experiment.find(key);
      if (at != std::string::npos) {
        EXPECT_EQ(task.experiment.find(key, at + 1), std::string::npos) << rows;
      }
    }
  }
  request.pool.resize(8);
  const auto refused = random_dlrms(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "tables: found a pool of 8, expected at least 15 for this number of GPUs");
}

TEST(RandomDlrm, RefusesAPoolFileByItsLine) {
  const auto refusal = [](const std::string& text) {
    std::istringstream in(text);
    const auto pool = read_table_pool(in, "pool.csv");
    return pool.ok() ? "" : pool.error().text();
  };
  EXPECT_NE(refusal("rows,pooling_factor\n10,1\n0,1\n").find("pool.csv:3: rows: found '0', expected a number from 1"),
            std::string::npos);
  EXPECT_NE(refusal("row,pooling_factor\n").find("rows"), std::string::npos);
  EXPECT_NE(refusal("rows,pooling_factor\n").find("found none"), std::string::npos);
}

}  // namespace
}  // namespace distsim::study
