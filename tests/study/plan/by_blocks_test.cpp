// Plans of experiments that are played layer by layer, whose layouts are compared by blocks.
#include <algorithm>

#include "plan_fixture.hpp"
#include "sim/study/plan/plan_rows.hpp"

namespace distsim::study {
namespace {

constexpr std::size_t kMostRows = 1000;

std::string text_of_layers(const std::string& model, const char* gpus) {
  return std::string("cluster: {system: dgx_a100_80gb, nodes: 1, gpus_per_node: ") + gpus + "}\nmodel: " + model +
         "\nframework: {name: megatron}\n";
}

/// Value of a goal of the experiment with its own layout by blocks, predicted alone.
PlanRow own_by_blocks(const PlanRequest& request, std::vector<std::string> sets) {
  PlanRow row;
  sets.push_back(std::string(kLayerByLayer) + "=false");
  const config::Experiment e = config::load_experiment(request.config, sets).value();
  pipeline::CostModelCache cache;
  row.report = predicted_report(e, cache).value();
  fill_costs(row, request, e);
  return row;
}

std::size_t baselines(const Plan& plan, PlanRowKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.rows, [&](const PlanRow& row) { return row.kind == kind; }));
}

/// Nothing of an exhaustive table, nor the experiment's own layout by blocks, predicted alone, is better than what wins.
TEST_F(PlanTest, NothingBeatsTheWinnerWhereTheExperimentIsPlayedLayerByLayer) {
  for (const char* model : {"{name: gpt2_small, global_batch: 1}", "{name: bert_large, global_batch: 16}"}) {
    for (const Objective objective : {Objective::time, Objective::cost, Objective::energy, Objective::memory}) {
      PlanRequest request;
      request.config = file("layers.yaml", text_of_layers(model, "1"));
      request.goal.objective = objective;
      request.top = 1;
      const Plan best = planned(request).value();
      request.exhaustive = true;
      request.top = kMostRows;
      const Plan all = planned(request).value();
      EXPECT_EQ(best.rows.front().value, all.rows.front().value) << model << name_of(objective);
      const PlanRow own = own_by_blocks(request, {"parallel.recompute=none"});
      EXPECT_LE(best.rows.front().value, own.value) << model << name_of(objective);
      const auto is_own = [&](const PlanRow& row) {
        return row.kind == PlanRowKind::candidate && row.report.iteration == own.report.iteration &&
               fullest_gpu(row.report) == fullest_gpu(own.report);
      };
      EXPECT_EQ(std::ranges::count_if(all.rows, is_own), 1) << model << name_of(objective);
      EXPECT_EQ(baselines(all, PlanRowKind::baseline), 1u);
    }
  }
}

TEST_F(PlanTest, AFrontHasTheExperimentsLayoutByBlocks) {
  PlanRequest request;
  request.config = file("front.yaml", text_of_layers("{name: bert_large, global_batch: 16}", "1"));
  request.exhaustive = true;
  request.top = kMostRows;
  const Plan all = planned(request).value();
  request.goal.second = Objective::memory;
  for (const bool exhaustive : {false, true}) {
    request.exhaustive = exhaustive;
    const Plan front = planned(request).value();
    const auto memory = [](const PlanRow& row) { return static_cast<double>(fullest_gpu(row.report)); };
    for (const PlanRow& row : front.rows) {
      if (row.kind == PlanRowKind::baseline_apart) continue;
      EXPECT_TRUE(std::ranges::none_of(all.rows, [&](const PlanRow& other) {
        return other.value <= row.value && memory(other) <= memory(row) &&
               (other.value < row.value || memory(other) < memory(row));
      }));
    }
    for (const PlanRow& row : all.rows) {
      EXPECT_TRUE(std::ranges::any_of(
          front.rows, [&](const PlanRow& other) { return other.value <= row.value && memory(other) <= memory(row); }));
    }
  }
}

TEST_F(PlanTest, AHeldKeyLeavesTheExperimentsLayoutByBlocks) {
  PlanRequest request;
  request.config = file("held.yaml", text_of_layers("{name: gpt2_small, global_batch: 1}", "1"));
  request.varied = {{"parallel.recompute", {"none"}}};
  request.top = kMostRows;
  const Plan plan = planned(request).value();
  ASSERT_EQ(plan.rows.size(), 2u);
  EXPECT_TRUE(is_by_blocks(plan.rows.front()));
  EXPECT_EQ(plan.rows.front().report.iteration, own_by_blocks(request, {"parallel.recompute=none"}).report.iteration);
  EXPECT_EQ(plan.rows.back().kind, PlanRowKind::baseline);
}

/// A value of --vary that holds anyway is that of the experiment as it is, which then counts as played.
TEST_F(PlanTest, TheExperimentCountsAsPlayedWhereItsOwnValuesAreVaried) {
  PlanRequest request;
  request.config = file("own.yaml", text_of_layers("{name: gpt3_126m, global_batch: 64}", "4"));
  const std::string own(workload::name_of(config::load_experiment(request.config, {}).value().model.precision));
  request.top = kMostRows;
  request.varied = {{"model.precision", {"fp32", own}}, {"device.launch.kernel_gap", {"2 us", "1000 ns"}}};
  const Plan plan = planned(request).value();
  EXPECT_EQ(baselines(plan, PlanRowKind::baseline), 1u);
  EXPECT_EQ(baselines(plan, PlanRowKind::baseline_apart), 0u);
  const auto baseline = std::ranges::find(plan.rows, PlanRowKind::baseline, &PlanRow::kind);
  EXPECT_EQ(baseline->values.at(0), own);
  EXPECT_EQ(baseline->values.at(1), "1000 ns");
  EXPECT_EQ(baseline->report.iteration, [&] {
    pipeline::CostModelCache cache;
    return predicted_report(config::load_experiment(request.config, {}).value(), cache).value().iteration;
  }());
  request.varied = {{"model.precision", {"fp32"}}};
  EXPECT_EQ(baselines(planned(request).value(), PlanRowKind::baseline_apart), 1u);
}

}  // namespace
}  // namespace distsim::study
