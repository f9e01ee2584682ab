// Plans of what is no language model that its framework splits: combinations of keys, and tables of recommenders.
#include <ranges>

#include "plan_fixture.hpp"
#include "sanitizers.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/study/plan/experiment_file.hpp"
#include "sim/study/plan/plan_rows.hpp"
#include "sim/study/plan/plan_sites.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

/// Data parallel jobs have keys of their own, and any family those that are varied.
TEST_F(PlanTest, OtherFamiliesPlayAllCombinations) {
  PlanRequest request;
  request.config = test::config("resnet50_dgx_a100.yaml");
  request.varied = {{"framework.gradients.bucket_size", {"5 MiB", "25 MiB"}}};
  const Plan plan = planned(request).value();
  EXPECT_EQ(plan.counts.played, 2);
  request.varied.clear();
  EXPECT_GT(planned(request).value().counts.played, 20);
}

/// Parts add up, also where some combinations do not fit; where none does, it is said what would.
TEST_F(PlanTest, CombinationsThatDoNotFitAreNotCountedAsPlayed) {
  PlanRequest request;
  request.config = test::config("resnet50_dgx_a100.yaml");
  request.sets = {"model.per_gpu_batch=2048"};
  request.varied = {{"model.accumulation", {"1", "2", "4"}}};
  const Plan plan = planned(request).value();
  EXPECT_EQ(plan.counts.unfit, 1);
  EXPECT_EQ(plan.counts.played, 2);
  EXPECT_EQ(plan.counts.space.considered, 3);
  request.varied = {{"model.accumulation", {"1"}}, {"framework.gradients.bucket_size", {"5 MiB", "25 MiB"}}};
  const auto none = planned(request);
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(
      none.error().what.starts_with("none of 2 combinations could be predicted; the experiment as it is: model: "
                                    "every rank needs "))
      << none.error().text();
}

/// Of all powers of two, what fits first is among those that are tried, and what is next to it; a batch that needs none has
/// 1, 2, 4 and 8.
TEST_F(PlanTest, SoManyMicroStepsAreTriedThatMemorySuffices) {
  const auto steps = [&](const std::string& model, const std::string& rest, const std::vector<std::int64_t>& gpus) {
    const std::string config = file(
        "batch.yaml", "cluster: {system: dgx_a100_40gb, nodes: 1}\nframework: {name: pytorch}\nmodel: " + model + rest);
    for (const SweepAxis& axis : data_parallel_axes(config::load_experiment(config, {}).value(), {}, gpus))
      if (axis.key == "model.accumulation") return axis.values;
    return std::vector<std::string>();
  };
  using Steps = std::vector<std::string>;
  EXPECT_EQ(steps("{name: resnet50_v1_5, global_batch: 512}", "", {}), (Steps{"1", "2", "4", "8"}));
  EXPECT_EQ(steps("{name: resnet50_v1_5, global_batch: 16}", "", {}), (Steps{"1", "2"}));
  EXPECT_EQ(steps("{name: resnet50_v1_5, global_batch: 16}", "", {8, 32}), (Steps{"1", "2"}));
  const std::string config = file("bert.yaml",
                                  "cluster: {system: dgx_a100_40gb, nodes: 1}\nframework: {name: pytorch}\n"
                                  "model: {name: bert_large, global_batch: 16384}\n");
  PlanRequest request;
  request.config = config;
  request.sets = {"framework.gradients.bucket_size=25 MiB", "framework.gradients.half_precision=false",
                  "collectives.algorithms=[Ring]"};
  request.top = 20;
  const Plan found = planned(request).value();
  request.varied = {{"model.accumulation", {"1", "2", "4", "8", "16", "32", "64", "128", "256", "512"}}};
  const Plan all = planned(request).value();
  EXPECT_GT(all.counts.unfit, 4) << "8 micro-steps do not fit";
  EXPECT_EQ(found.rows.front().report.iteration, all.rows.front().report.iteration);
  EXPECT_LE(found.counts.space.considered, 7);
}

/// Of the keys that are searched without being varied, too.
TEST_F(PlanTest, WhatIsSetIsNotSearched) {
  const std::string config = test::config("resnet50_dgx_a100.yaml");
  const auto keys = [&](const std::vector<std::string>& sets) {
    std::vector<std::string> out;
    for (const SweepAxis& axis : data_parallel_axes(config::load_experiment(config, sets).value(), sets))
      out.push_back(axis.key);
    return out;
  };
  const std::vector<std::string> all = keys({});
  ASSERT_EQ(all.size(), 4u);
  for (const char* set : {"framework.gradients.bucket_size=7 MiB", "framework.gradients.half_precision=false",
                          "collectives.algorithms=[]", "model.accumulation=2"}) {
    std::vector<std::string> others = all;
    std::erase(others, std::string(set).substr(0, std::string(set).find('=')));
    EXPECT_EQ(keys({set}), others) << set;
  }
  EXPECT_EQ(keys({"collectives={algorithms: [Tree]}"}).size(), 3u);
}

/// The batch given per GPU, by file or by --set, or for all: one plan, every row of which trains as many samples.
TEST_F(PlanTest, TheGlobalBatchHolds) {
  const std::string rest =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nframework: {name: pytorch}\nmodel: {name: resnet50_v1_5, ";
  PlanRequest per_gpu, of_all, of_set;
  per_gpu.config = file("gpu.yaml", rest + "per_gpu_batch: 256}\n");
  of_all.config = of_set.config = file("all.yaml", rest + "global_batch: 2048}\n");
  of_set.sets = {"model.global_batch=0", "model.per_gpu_batch=256"};
  for (PlanRequest* request : {&per_gpu, &of_all, &of_set}) {
    request->top = 40;
    request->varied = {{"framework.gradients.bucket_size", {"5 MiB", "25 MiB"}}, {"model.accumulation", {"1", "8"}}};
  }
  const Plan plan = planned(of_all).value();
  pipeline::CostModelCache cache;
  for (const PlanRequest* request : {&per_gpu, &of_set}) {
    const Plan same = planned(*request).value();
    ASSERT_EQ(same.rows.size(), plan.rows.size());
    const std::vector<std::string> batches{"model.global_batch", "model.per_gpu_batch"};
    EXPECT_TRUE(std::ranges::equal(same.keys | std::views::drop(plan.keys.size()), batches));
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(same.rows[i].values | std::views::take(plan.keys.size()), plan.rows[i].values));
      EXPECT_EQ(same.rows[i].report.iteration, plan.rows[i].report.iteration);
      EXPECT_EQ(same.rows[i].report.context.samples, 2048);
      if (same.rows[i].kind != PlanRowKind::candidate) continue;
      std::vector<std::string> sets = request->sets, shown = request->sets;
      sets.insert(sets.end(), same.rows[i].sets.begin(), same.rows[i].sets.end());
      for (std::size_t k = 0; k < same.keys.size(); ++k)
        shown = with_set(std::move(shown), same.keys[k] + "=" + same.rows[i].values[k]);
      const auto alone = predicted_report(config::load_experiment(request->config, shown).value(), cache);
      ASSERT_TRUE(alone.ok()) << alone.error().text();
      EXPECT_EQ(alone->iteration, same.rows[i].report.iteration);
      EXPECT_TRUE(
          write_experiment((folder_ / "best.yaml").string(), request->config, sets, same.rows[i].report.iteration)
              .ok());
    }
  }
  per_gpu.varied.push_back({"model.per_gpu_batch", {"128", "256"}});
  const Plan varied = planned(per_gpu).value();
  EXPECT_TRUE(std::ranges::any_of(varied.rows, [](const PlanRow& r) { return r.report.context.samples == 16384; }));
}

/// What was planned for one exchange is played with the other too.
TEST_F(PlanTest, EveryPlacementIsPlayedWithBothExchanges) {
  const Plan plan = planned({.config = test::config("dgx_a100_4node.yaml"),
                             .sets = {"cluster.nodes=2", "model.dlrm.tables=[{rows: 1000000, count: 12}]"}})
                        .value();
  ASSERT_TRUE(plan.tables.has_value());
  const auto& played = plan.tables->played;
  const auto is_exchange = [](const std::string& set) { return set.starts_with("framework.embedding.exchange="); };
  std::size_t placements = 0;
  for (const PlayedPlan& p : played) {
    if (p.placement.tables.empty() || !p.sets.empty()) continue;
    ++placements;
    EXPECT_TRUE(std::ranges::any_of(played, [&](const PlayedPlan& o) {
      return o.placement.tables == p.placement.tables && o.sets.size() == 1 && is_exchange(o.sets.front());
    })) << p.name;
  }
  EXPECT_GT(placements, 1u);
}

/// The exchange, and where the tables lie.
TEST_F(PlanTest, WhatIsSetOfARecommenderIsNotTried) {
  const std::vector<std::string> small{"cluster.nodes=2", "model.dlrm.tables=[{rows: 1000000, count: 6}]"};
  const auto played = [&](const std::string& set) {
    PlanRequest request{.config = test::config("dgx_a100_4node.yaml"), .sets = small};
    request.sets.push_back(set);
    return planned(request).value().tables->played;
  };
  const auto tries = [&](const std::vector<PlayedPlan>& all, const std::string& key) {
    return std::ranges::any_of(all, [&](const PlayedPlan& p) {
      return std::ranges::any_of(p.sets, [&](const std::string& set) { return set.starts_with(key + "="); });
    });
  };
  const std::string exchange = "framework.embedding.exchange";
  ASSERT_TRUE(tries(played("title=x"), exchange));
  EXPECT_FALSE(tries(played(exchange + "=hierarchical"), exchange));
  for (const PlayedPlan& p : played("parallel={sharding: row_wise}")) EXPECT_TRUE(p.placement.tables.empty()) << p.name;
}

/// A recommender's tables are planned; the winner is the plan's own and no slower than the experiment.
TEST_F(PlanTest, TablesOfARecommender) {
  std::vector<std::string> sets;
  if (test::has_address_sanitizer()) sets = {"cluster.nodes=1", "model.dlrm.tables=[{rows: 1000000, count: 6}]"};
  const Plan plan = planned({.config = test::config("dgx_a100_4node.yaml"), .sets = sets}).value();
  ASSERT_TRUE(plan.tables.has_value());
  const PlayedPlan& winner = plan.tables->played[plan.tables->winner];
  EXPECT_EQ(plan.rows.front().report.iteration, winner.figures->iteration);
  const auto baseline = std::ranges::find_if(
      plan.tables->played, [](const PlayedPlan& p) { return p.placement.tables.empty() && p.sets.empty(); });
  ASSERT_NE(baseline, plan.tables->played.end());
  EXPECT_LE(winner.figures->iteration, baseline->figures->iteration);
  EXPECT_FALSE(planned({.config = test::config("dgx_a100_4node.yaml"), .goal = {Objective::memory, {}}}).ok());
}

}  // namespace
}  // namespace distsim::study
