// What a row of a plan shows is what predicts it again.
#include "plan_fixture.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

/// The time of every row is that of the experiment with the row's columns, and no other keys, on it. Gives back the columns.
std::vector<std::string> predicted_again(const PlanRequest& request) {
  const auto plan = planned(request);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  if (!plan.ok()) return {};
  pipeline::CostModelCache cache;
  std::size_t rows = 0;
  for (const PlanRow& row : plan->rows) {
    if (row.kind != PlanRowKind::candidate) continue;
    std::vector<std::string> sets = request.sets;
    EXPECT_EQ(row.values.size(), plan->keys.size());
    for (std::size_t k = 0; k < plan->keys.size(); ++k)
      sets = with_set(std::move(sets), plan->keys[k] + "=" + row.values[k]);
    const auto e = config::load_experiment(request.config, sets);
    EXPECT_TRUE(e.ok()) << e.error().text();
    if (!e.ok()) continue;
    const auto alone = predicted_report(*e, cache);
    EXPECT_TRUE(alone.ok()) << alone.error().text();
    if (alone.ok()) EXPECT_EQ(alone->iteration, row.report.iteration) << request.config;
    ++rows;
  }
  EXPECT_GT(rows, 0u) << request.config;
  return plan->keys;
}

bool has_batch(const std::vector<std::string>& keys) {
  return std::ranges::count(keys, "model.global_batch") == 1 && std::ranges::count(keys, "model.per_gpu_batch") == 1;
}

std::string text_of(const std::string& model, const std::string& framework) {
  return "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: " + model + "\nframework: {name: " + framework + "}\n";
}

TEST_F(PlanTest, ColumnsPredictRowsAgainWhereTheBatchIsGivenPerGpu) {
  for (const auto& [model, framework] : {std::pair("{name: gpt2_xl, per_gpu_batch: 4}", "megatron_core"),
                                         std::pair("{name: bert_large, per_gpu_batch: 16}", "megatron_core"),
                                         std::pair("{name: bert_large, per_gpu_batch: 16}", "pytorch"),
                                         std::pair("{name: resnet50_v1_5, per_gpu_batch: 64}", "pytorch")}) {
    PlanRequest request;
    request.config = file("per_gpu.yaml", text_of(model, framework));
    request.gpus = {8, 32};
    request.top = 2;
    request.sets = {"framework.gradients.bucket_size=25 MiB", "collectives.algorithms=[Ring]"};
    EXPECT_TRUE(has_batch(predicted_again(request))) << model;
  }
}

TEST_F(PlanTest, ColumnsPredictRowsAgainWhereTheBatchIsThatOfTheExperiment) {
  PlanRequest request;
  request.config = file("global.yaml", text_of("{name: gpt2_xl, global_batch: 64}", "megatron_core"));
  request.top = 2;
  EXPECT_FALSE(has_batch(predicted_again(request)));
  request.gpus = {8, 32};
  EXPECT_FALSE(has_batch(predicted_again(request)));
  request.gpus.clear();
  request.varied = {{"model.global_batch", {"32", "64"}}};
  const std::vector<std::string> varied = predicted_again(request);
  EXPECT_EQ(std::ranges::count(varied, "model.global_batch"), 1);
  EXPECT_FALSE(has_batch(varied));
}

/// Replicas follow from the rest; where the experiment states them, so do its rows, and where they are set, they hold.
TEST_F(PlanTest, ColumnsPredictRowsAgainWhereReplicasAreStated) {
  PlanRequest request;
  request.config =
      file("data.yaml", text_of("{name: gpt2_xl, global_batch: 64}", "megatron_core") + "parallel: {data: 16}\n");
  request.sets = {"parallel.pipeline=2"};
  request.top = 2;
  const std::vector<std::string> keys = predicted_again(request);
  EXPECT_EQ(std::ranges::count(keys, "parallel.data"), 1);
  request.sets = {"parallel.data=4"};
  EXPECT_EQ(std::ranges::count(predicted_again(request), "parallel.data"), 0);
  const Plan plan = planned(request).value();
  for (const PlanRow& row : plan.rows)
    if (row.kind == PlanRowKind::candidate)
      EXPECT_TRUE(row.report.context.placement.find("data 4") != std::string::npos);
}

/// A key that is varied has one column.
TEST_F(PlanTest, AVariedBatchHasOneColumn) {
  PlanRequest request;
  request.config = file("resnet.yaml", text_of("{name: resnet50_v1_5, global_batch: 1024}", "pytorch"));
  request.varied = {{"model.global_batch", {"512", "2048"}}, {"model.accumulation", {"1", "2"}}};
  const std::vector<std::string> keys = predicted_again(request);
  EXPECT_EQ(std::ranges::count(keys, "model.global_batch"), 1);
  EXPECT_EQ(std::ranges::count(keys, "model.per_gpu_batch"), 0);
}

}  // namespace
}  // namespace distsim::study
