// The public headers alone: what another program sees.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sim/api/public/distsim.hpp"
#include "test_paths.hpp"

namespace distsim::api {
namespace {

const Experiment kJob = Experiment::of_text(
    "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: dlrm_mlperf, global_batch: 8192}\nframework: {name: "
    "hugectr}\n",
    "job");

const std::string kFourNodes = test::root() + "/configs/dgx_a100_4node.yaml";
/// Of one rank of eight.
const std::string kProfile = test::root() + "/tests/data/traces/megatron_gpt_tp8_a100/kineto_rank0.json.gz";

template <class Call>
ConfigError error_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {"", "", ""};
}

TEST(Library, FiguresAreThoseOfTheReport) {
  const Prediction p = predict(kJob);
  const Figures& f = p.figures();
  EXPECT_NEAR(f.compute_ms + f.exposed_comm_ms + f.waiting_ms + f.host_bound_ms + f.idle_ms, f.iteration_ms,
              1e-6 * f.iteration_ms);
  EXPECT_EQ(f.ranks, 16);
  EXPECT_LE(f.low_ms, f.iteration_ms);
  EXPECT_GE(f.high_ms, f.iteration_ms);
  EXPECT_NE(p.json().find("\"limited_by\": \"" + f.limited_by + "\""), std::string::npos);
  EXPECT_EQ(p.json(), predict(kJob).json());
  EXPECT_EQ(p.csv().find("title,system,"), 0u);
  EXPECT_EQ(p.html().find("<!"), 0u);
}

TEST(Library, ErrorsHaveTheirParts) {
  Experiment wrong = kJob;
  wrong.text = "cluster:\n  nodes: -3\n  system: dgx_a100_80gb\nmodel: {name: dlrm_mlperf}\n";
  const ConfigError e = error_of([&] { predict(wrong); });
  EXPECT_EQ(e.file(), "job");
  EXPECT_EQ(e.line(), 2);
  EXPECT_EQ(e.column(), 10);
  EXPECT_EQ(e.problem(), "cluster.nodes: found '-3', expected 1 .. 1000000");
  EXPECT_EQ(e.what(), "job:2:10: " + e.problem());

  wrong = kJob;
  wrong.sets = {"cluster.nods=3"};
  const ConfigError set = error_of([&] { predict(wrong); });
  EXPECT_EQ(set.where(), "set cluster.nods");
  EXPECT_EQ(set.file(), "");
  EXPECT_EQ(set.line(), 0);
  EXPECT_NE(set.hint().find("nodes"), std::string::npos);

  wrong.sets = {""};
  EXPECT_EQ(error_of([&] { predict(wrong); }).file(), "") << "a setting is no file";
  EXPECT_EQ(error_of([&] { sweep({kJob, {{"cluster.nodes", {}}}}); }).file(), "");
}

TEST(Library, AnExperimentIsAFileOrAText) {
  const Experiment none;
  const std::string refusal = "experiment: found neither a file nor a text, expected one of them";
  EXPECT_EQ(error_of([&] { predict(none); }).what(), refusal);
  EXPECT_EQ(error_of([&] { sweep({none, {{"cluster.nodes", {"1"}}}}); }).what(), refusal);
  EXPECT_EQ(error_of([&] { plan({none}); }).what(), refusal);
  EXPECT_EQ(error_of([&] { serving({none}); }).what(), refusal);
  EXPECT_EQ(error_of([&] { replay({.traces = {kProfile}, .experiment = none}); }).what(), refusal);
  EXPECT_NE(std::string(error_of([&] {
                          compare({{"a", kJob}, {"b", none}});
                        }).what())
                .find(refusal),
            std::string::npos);
  EXPECT_EQ(error_of([&] { predict(Experiment::of_text("", "")); }).problem().find("experiment: "), std::string::npos);
}

TEST(Library, PartsOfAnErrorAreCut) {
  const std::string lengthy(100'000, 'x');
  const auto parts_of = [](const ConfigError& e) { return e.problem() + e.hint() + e.where(); };
  EXPECT_LT(parts_of(error_of([&] { plan({.experiment = kJob, .objective = lengthy}); })).size(), 1000u);
  EXPECT_LT(parts_of(error_of([&] { sweep({kJob, {{"cluster.nodes", {lengthy + ",,"}}}}); })).size(), 1000u);
  EXPECT_LT(parts_of(error_of([&] { cost_op({"h100_sxm5_80gb", lengthy, "bf16", "", {}}); })).size(), 1000u);
  EXPECT_EQ(error_of([&] { predict(Experiment::of_file(lengthy)); }).file(), lengthy)
      << "what a program opens is whole";
}

TEST(Library, OnlyAFileIsTheFileOfAnError) {
  const auto of_op = [](const char* rows) {
    return error_of([&] { cost_op({"h100_sxm5_80gb", "linear", "bf16", "", {{"m", rows}, {"n", "1"}, {"k", "1"}}}); });
  };
  EXPECT_EQ(of_op("-1").file(), "");
  EXPECT_EQ(std::string(of_op("-1").what()).find("h100_sxm5_80gb: "), 0u);
  EXPECT_EQ(error_of([] { replay({.traces = {"no_such_*.json"}}); }).file(), "") << "a pattern";
  EXPECT_EQ(error_of([] { replay({.traces = {kProfile}, .step_pattern = "["}); }).file(), "");
  EXPECT_EQ(error_of([] { predict(Experiment::of_file("no_such.yaml")); }).file(), "no_such.yaml");
}

TEST(Library, RanksOfAReplayCountWhereTheyAreGiven) {
  ReplayRequest request{.traces = {kProfile}, .experiment = Experiment::of_file(kFourNodes)};
  EXPECT_NE(replay(request).json, "");
  request.ranks = 1;  // of a rank of eight
  EXPECT_NE(error_of([&] { replay(request); }).problem().find("expected at most 1 rank"), std::string::npos);
  request.priced = true;
  EXPECT_EQ(error_of([&] { replay(request); }).problem().find("ranks: found priced"), 0u);
}

TEST(Library, RowsOfAPlanOfTablesArePlayedAgainWithTheirPlacement) {
  const Experiment skewed = Experiment::of_file(test::root() + "/configs/dlrm_skewed_2node.yaml");
  const std::vector<PlanRow> rows = plan({skewed}).rows();
  const std::string path = ::testing::TempDir() + "placement_" + std::to_string(getpid()) + ".csv";
  std::size_t placed = 0;
  for (const PlanRow& row : rows) {
    Experiment again = skewed;
    again.sets = row.sets;
    if (!row.placement.empty()) {
      ++placed;
      std::ofstream(path) << row.placement;
      again.sets.push_back("parallel.placement_file=" + path);
    }
    EXPECT_DOUBLE_EQ(predict(again).figures().iteration_ms, row.iteration_ms) << row.placement;
  }
  std::filesystem::remove(path);
  EXPECT_GT(placed, 0u);
  EXPECT_LT(placed, rows.size()) << "the experiment as it is needs none";
}

TEST(Library, APlanWithoutAMemoryCheckHasTimesThatDoNotFit) {
  Experiment large = Experiment::of_file(test::root() + "/configs/megatron_gpt_7_5b.yaml");
  large.sets = {"cluster.nodes=1", "model.memory_check=false", "parallel.tensor=1", "parallel.pipeline=1"};
  const std::vector<PlanRow> rows = plan({large, {{"model.accumulation", {"1"}}}}).rows();
  const auto unfit = std::ranges::find_if(rows, [](const PlanRow& row) { return !row.fits && row.error.empty(); });
  ASSERT_NE(unfit, rows.end());
  EXPECT_GT(unfit->iteration_ms, 0);
}

TEST(Library, RowsOfAPlanNameTheTextAsItIsCalled) {
  const Experiment dense = Experiment::of_text(
      "cluster: {system: dgx_h200, nodes: 1}\nmodel: {name: bert_large, global_batch: 32}\n"
      "framework: {name: megatron_bridge}\nparallel: {expert: 4}\n",
      "job");
  const auto planned = [&] {
    return plan({.experiment = dense, .vary = {{"parallel.recompute", {"none"}}}, .top = 1});
  };
  const Plan first = planned(), second = planned();
  EXPECT_EQ(first.csv(), second.csv());
  EXPECT_EQ(first.json(), second.json());
  EXPECT_EQ(first.rows().back().error.find("job:"), 0u) << first.rows().back().error;
  EXPECT_EQ(first.rows().back().error.find('#'), std::string::npos) << first.rows().back().error;
}

TEST(Library, AnErrorOfAStudyNamesTheTextAsItIsCalled) {
  Experiment wrong = kJob;
  wrong.text = "cluster: {system: dgx_a100_80gb, nodes: 0}\nmodel: {name: dlrm_mlperf}\n";
  for (const auto& call : {+[](const Experiment& e) { plan({e}); }, +[](const Experiment& e) { sweep({e}); },
                           +[](const Experiment& e) {
                             compare({{"a", e}, {"b", e}});
                           }}) {
    const ConfigError e = error_of([&] { call(wrong); });
    EXPECT_EQ(std::string(e.what()).find('#'), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("cluster.nodes: found '0'"), std::string::npos) << e.what();
  }
}

TEST(Library, AStopEndsEveryLongCall) {
  const auto ends = [](const auto& call) {
    int asked = 0;
    const Stop stop = [&] { return ++asked > 1; };
    EXPECT_THROW(call(stop), Interrupted);
    EXPECT_GE(asked, 2);
  };
  ends([](const Stop& stop) { predict(kJob, {.trials = 1'000'000, .stop = stop}); });
  ends([](const Stop& stop) {
    sweep({kJob, {{"cluster.nodes", {"1..64"}}, {"model.global_batch", {"64..640000:64"}}}, Scaling::strong, 2, stop});
  });
  PlanRequest request{Experiment::of_file(test::root() + "/configs/megatron_gpt_145b.yaml")};
  request.exhaustive = true;
  ends([&](const Stop& stop) {
    request.stop = stop;
    plan(request);
  });
  EXPECT_GT(predict(kJob).figures().iteration_ps, 0) << "and the next call answers";
}

TEST(Library, AStopOfOneThreadEndsNoOther) {
  std::atomic<bool> others_done{false};
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) EXPECT_GT(predict(kJob).figures().iteration_ps, 0);
    others_done = true;
  });
  const Stop stop = [&] { return others_done.load(); };
  EXPECT_THROW(predict(kJob, {.trials = 1'000'000, .stop = stop}), Interrupted);
  other.join();
}

TEST(Library, WhatIsOutOfRangeIsRefused) {
  error_of([] { predict(kJob, {.trials = 1'000'001}); });
  error_of([] { sweep({kJob, {{"cluster.nodes", {}}}}); });
  error_of([] { sweep({kJob, {{"cluster.nodes", {"1"}}, {"cluster.nodes", {"2"}}}}); });
  error_of([] { sweep({kJob, {}, Scaling::strong, 257}); });
  error_of([] { compare({{"a", kJob}}); });
  error_of([] { cost_op({"h100_sxm5_80gb", "linear", "bf16", "", {{"m", "1"}, {"m", "1"}}}); });
  error_of([] { cost_op({}); });
  error_of([] { cost_collective({"dgx_a100_80gb", "all_reduce", {}}); });
  error_of([] { cost_collective({"dgx_a100_80gb", "all_reduce", {"8"}, 1u << 21}); });
  error_of([] { replay({}); });
  EXPECT_EQ(error_of([] { replay({.traces = {"x.et"}, .ranks = 0}); }).problem(),
            "ranks: found 0, expected 1 .. 16777216");
  error_of([] { names("nothing"); });
  PlanRequest request{kJob};
  request.tokens = std::nan("");
  error_of([&] { plan(request); });
  EXPECT_THROW(sweep({kJob}).point(1), std::out_of_range);
}

TEST(Library, ASweepHasWhatPredictSays) {
  const Sweep points = sweep({kJob, {{"cluster.nodes", {"1", "2..4"}}}});
  ASSERT_EQ(points.size(), 4u);
  for (std::size_t i = 0; i < points.size(); ++i) {
    Experiment one = kJob;
    one.sets = {"cluster.nodes=" + points.point(i).values.at(0)};
    EXPECT_DOUBLE_EQ(points.point(i).iteration_ms, predict(one).figures().iteration_ms);
  }
  EXPECT_EQ(points.point(0).efficiency, 1);
}

}  // namespace
}  // namespace distsim::api
