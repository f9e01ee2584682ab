// The experiment's own layout is among what is planned, whatever layouts.yaml says of its framework.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan/plan.hpp"
#include "small_llm.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

using test::llm_text;

class OwnValuesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("distsim_test_own_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  PlanRequest request_of(const std::string& text) const {
    PlanRequest request;
    request.config = (folder_ / "x.yaml").string();
    std::ofstream(request.config) << text;
    request.top = 3;
    return request;
  }

  std::filesystem::path folder_;
};

double iteration_of_file(const std::string& path) {
  pipeline::Passes passes;
  const auto p = pipeline::predict(path, {}, passes);
  EXPECT_TRUE(p.ok()) << (p ? "" : p.error().text());
  return p ? p->report.iteration.ms() : 0;
}

double best_of(const PlanRequest& request) {
  const Result<Plan> plan = plan_experiment(request, [] {});
  EXPECT_TRUE(plan.ok()) << (plan ? "" : plan.error().text());
  return plan ? plan->rows.front().report.iteration.ms() : 0;
}

constexpr const char* kShardedByTorch =
    "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: llama2_7b, per_gpu_batch: 2}\n"
    "framework: {name: pytorch}\nparallel: {shard: weights}\n";

/// PyTorch is not listed with a level of sharding, without which nothing fits.
TEST_F(OwnValuesTest, AnExperimentThatFitsIsPlanned) {
  PlanRequest request = request_of(kShardedByTorch);
  const double own = iteration_of_file(request.config), best = best_of(request);
  EXPECT_LE(best, own);
  PlanRequest stated = request;
  stated.varied = {{"parallel.shard", {"none", "weights"}}};
  EXPECT_DOUBLE_EQ(best_of(stated), best) << "its own values are searched with all others";
  request.gpus = {16, 32};
  EXPECT_LE(best_of(request), best);
  request.gpus = {32};
  EXPECT_GT(best_of(request), 0);
  request.gpus.clear();
  request.varied = {{"cluster.nodes", {"2", "4"}}};
  EXPECT_LE(best_of(request), best);
  request.varied = {{"cluster.nic.bandwidth", {"200 Gb/s", "400 Gb/s"}}};
  EXPECT_LE(best_of(request), best);
}

struct OwnLayout {
  const char* framework;
  const char* parallel;
};

/// The best of a plan is no slower than the experiment where that is among what is asked for, and bounds lose nothing.
TEST_F(OwnValuesTest, NoPlanIsSlowerThanItsExperiment) {
  const OwnLayout layouts[] = {
      {"megatron_core", "{tensor: 2, pipeline: 4, schedule: zero-bubble, shard: weights}"},
      {"megatron_core", "{tensor: 4, recompute: 21, micro_batch: 2, shard: gradients}"},
      {"megatron_core", "{pipeline: 4, stage_layers: [7, 9, 9, 7], recompute: full}"},
      {"megatron_core", "{pipeline: 2, virtual_stages: 4, tensor: 2, schedule: interleaved}"},
      {"fsdp1_llm_foundry", "{tensor: 2, sequence_parallel: true, shard: optimizer}"},
      {"fsdp1_llm_foundry", "{shard: weights, shard_group: 4, recompute: 'selective: every second layer'}"},
      {"pytorch", "{tensor: 4, pipeline: 2, schedule: gpipe, shard: optimizer}"},
      {"pytorch", "{shard: weights, offload: optimizer, micro_batch: 2}"},
      {"deepspeed_hf", "{context: 2, context_exchange: ulysses, shard: weights}"},
      {"t5x", "{tensor: 8}"}};
  for (const OwnLayout& own : layouts) {
    SCOPED_TRACE(std::string(own.framework) + " " + own.parallel);
    PlanRequest request =
        request_of(llm_text("llama3_8b", own.framework, "dgx_h100", 1, 16) + "parallel: " + own.parallel + "\n");
    request.top = 1;
    const double given = iteration_of_file(request.config);
    const double best = best_of(request);
    EXPECT_LE(best, given);
    request.gpus = {8, 16};
    EXPECT_LE(best_of(request), best);
    request.gpus = {8};
    EXPECT_DOUBLE_EQ(best_of(request), best);
    request.exhaustive = std::string(own.framework) != "megatron_core";  // whose spaces take long
    EXPECT_DOUBLE_EQ(best_of(request), best);
    request.exhaustive = false;
    request.gpus.clear();
    request.varied = {{"device.hbm.bandwidth", {"3.35 TB/s", "3 TB/s"}}};
    EXPECT_LE(best_of(request), given * 1.001);
  }
}

/// Where a key is held, the experiment's own value of it is no choice.
TEST_F(OwnValuesTest, HeldKeysKeepTheirValues) {
  PlanRequest request = request_of(kShardedByTorch);
  request.varied = {{"parallel.shard", {"none"}}};
  EXPECT_FALSE(plan_experiment(request, [] {}).ok());
  request.varied.clear();
  request.sets = {"parallel.shard=none"};
  EXPECT_FALSE(plan_experiment(request, [] {}).ok());
}

/// Each layout comes once, its own too.
TEST_F(OwnValuesTest, NoLayoutComesTwice) {
  for (const char* parallel : {"{tensor: 8}", "{tensor: 2, pipeline: 2}", "{tensor: 4, shard: weights}"}) {
    PlanRequest request =
        request_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16) + "parallel: " + parallel + "\n");
    request.gpus = {8};
    request.top = 1000;
    request.sets = {"parallel.recompute=full", "parallel.context=1", "parallel.micro_batch=1"};
    const Plan plan = plan_experiment(request, [] {}).value();
    std::set<std::vector<std::string>> seen;
    for (const PlanRow& row : plan.rows) {
      const bool is_new = row.kind != PlanRowKind::candidate || seen.insert(row.values).second;
      EXPECT_TRUE(is_new) << parallel;
    }
    EXPECT_GT(seen.size(), 10u);
  }
}

/// What the framework is set to shard holds as the layout's own key does; what it overlaps is so in any layout.
TEST_F(OwnValuesTest, AKeyThatIsLeftToTheFrameworkIsHeld) {
  PlanRequest request = request_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16));
  const auto table = [&](const std::string& set) {
    request.sets = {set, "parallel.pipeline=1", "parallel.context=1"};
    return plan_experiment(request, [] {}).value();
  };
  const Plan by_framework = table("framework.parallel.shard=weights"), by_layout = table("parallel.shard=weights");
  EXPECT_EQ(by_framework.counts.space.considered, by_layout.counts.space.considered);
  EXPECT_EQ(by_framework.rows.front().values, by_layout.rows.front().values);
  const Plan overlapped = table("framework.parallel.overlap_tensor=bulk");
  EXPECT_GT(overlapped.counts.space.considered, by_layout.counts.space.considered);
  request = request_of(kShardedByTorch);
  request.sets = {"framework.parallel.shard=optimizer"};
  EXPECT_LE(best_of(request), iteration_of_file(request.config)) << "the experiment's own sharding is no default";
}

/// Rows have the batch and the nodes that they are labelled with.
TEST_F(OwnValuesTest, MapsThatAreVariedSayBatchesAndNodes) {
  PlanRequest request = request_of(llm_text("llama3_8b", "megatron_core", "dgx_h100", 1, 16));
  request.sets = {"parallel.tensor=8", "parallel.recompute=none", "parallel.micro_batch=1"};
  request.varied = {{"model", {"{name: llama3_8b, global_batch: 16}", "{name: llama3_8b, global_batch: 32}"}}};
  request.top = 100;
  const Plan plan = plan_experiment(request, [] {}).value();
  std::set<std::int64_t> batches;
  for (const PlanRow& row : plan.rows) {
    if (row.kind != PlanRowKind::candidate || !row.error.empty()) continue;
    const std::int64_t batch = row.values.front().find("32") != std::string::npos ? 32 : 16;
    EXPECT_EQ(row.report.context.samples, batch);
    batches.insert(batch);
  }
  EXPECT_EQ(batches.size(), 2u);
  request.varied = {{"model", {"{name: llama3_8b}", "{name: llama2_7b}"}}};
  for (const PlanRow& row : plan_experiment(request, [] {}).value().rows) EXPECT_EQ(row.report.context.samples, 16);
  request.gpus = {8, 16};
  for (const char* machines : {"{system: dgx_h100, nodes: 2}", "{system: dgx_h100}"}) {
    request.varied = {{"cluster", {machines}}};
    const Result<Plan> refused = plan_experiment(request, [] {});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().text().find("--gpus: found together with --vary cluster"), std::string::npos);
  }
}

}  // namespace
}  // namespace distsim::study
