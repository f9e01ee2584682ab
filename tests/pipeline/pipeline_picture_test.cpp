// The picture of a pipeline's schedule: rows of slices against what schedules are, and bounds of the picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json/json.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/report/html/html.hpp"
#include "sim/report/picture/pipeline_picture.hpp"
#include "sim/report/picture/stage_rows.hpp"

namespace distsim::pipeline {
namespace {

using graph::PassKind;
using report::StageRow;
using report::StageSlice;
using report::StageWork;

struct Drawn {
  Prediction prediction;
  graph::PipelineOrder order;
};

Drawn drawn(const std::vector<std::string>& sets) {
  const auto parsed = config::parse_experiment_text(
      "cluster: {system: dgx_h100, nodes: 1}\nmodel: {name: llama3_8b, global_batch: 32, memory_check: false}\n"
      "framework: {name: megatron_core}\nparallel: {pipeline: 4, tensor: 1, micro_batch: 1}\n",
      "test.yaml", sets);
  const config::Experiment e = config::resolve(parsed.value()).value();
  Passes passes;
  auto prediction = predict(e, passes);
  CHECK(prediction.ok()) << prediction.error().text();
  auto order = played_pipeline(e, kPlayedMicroSteps, 1);
  CHECK(order.ok() && *order);
  return {*std::move(prediction), **order};
}

report::StageRows rows_of(Drawn&&) = delete;  // slices point into it
report::StageRows rows_of(const Drawn& d) {
  auto rows = report::stage_rows(d.prediction.played(), d.order, 64);
  CHECK(rows);
  return *std::move(rows);
}

class EverySchedule : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> sets() const {
    const std::string name = GetParam();
    return {"parallel.schedule=" + name, std::string("parallel.virtual_stages=") + (name == "interleaved" ? "2" : "1")};
  }
};

/// Adjacent slices from the beginning to the end; each micro-batch passes every chunk forward once, and backward once or in
/// two parts, and the position behind another only after it.
TEST_P(EverySchedule, RowsAreWholeAndInTheOrderOfThePipeline) {
  const Drawn d = drawn(sets());
  const report::StageRows rows = rows_of(d);
  ASSERT_EQ(rows.rows.size(), 4u);
  const bool both_ways = std::string(GetParam()) == "dualpipe";
  std::map<std::pair<std::uint32_t, std::int64_t>, StageSlice> forward, backward;  // by position and micro-batch
  std::int64_t idle = 0;
  for (const StageRow& row : rows.rows) {
    std::int64_t at = rows.begin;
    for (const StageSlice& s : row.slices) {
      EXPECT_EQ(s.begin, at);
      EXPECT_GT(s.end, s.begin);
      at = s.end;
      if (s.work == StageWork::idle) idle += s.end - s.begin;
      if (s.pass == nullptr) continue;
      const std::uint32_t position =
          both_ways && s.pass->chunk == 1 ? 3 - row.stage : row.stage + 4 * (both_ways ? 0 : s.pass->chunk);
      if (s.work == StageWork::weights || s.work == StageWork::recompute) continue;
      auto& passes = s.work == StageWork::forward ? forward : backward;
      EXPECT_TRUE(passes.try_emplace({position, s.pass->micro_batch}, s).second);
    }
    EXPECT_EQ(at, rows.end);
  }
  EXPECT_NEAR(rows.idle, static_cast<double>(idle) / static_cast<double>(4 * (rows.end - rows.begin)), 1e-9);
  const std::uint32_t positions = std::string(GetParam()) == "interleaved" ? 8 : 4;
  ASSERT_EQ(forward.size(), positions * 16u);
  ASSERT_EQ(backward.size(), positions * 16u);
  for (const auto& [at, slice] : forward) {
    const auto& [position, micro_batch] = at;
    EXPECT_LE(slice.end, backward.at(at).begin);
    if (position == 0) continue;
    EXPECT_LE(forward.at({position - 1, micro_batch}).end, slice.begin) << position;
    EXPECT_LE(backward.at(at).end, backward.at({position - 1, micro_batch}).begin) << position;
  }
}

TEST_P(EverySchedule, WeightGradientsAreApartWhereTheScheduleSplitsThem) {
  const Drawn d = drawn(sets());
  const report::StageRows rows = rows_of(d);
  std::size_t weights = 0, inputs = 0;
  for (const StageRow& row : rows.rows) {
    for (const StageSlice& s : row.slices) {
      weights += s.work == StageWork::weights ? 1 : 0;
      const bool is_pass = s.pass != nullptr && s.work != StageWork::recompute;
      inputs += is_pass && s.pass->kind == PassKind::inputs ? 1 : 0;
    }
  }
  const std::set<std::string> split{"zero-bubble", "dualpipe"};
  EXPECT_EQ(weights, inputs);
  EXPECT_EQ(weights > 0, split.contains(GetParam()));
}

/// Seconds of a kind of work of one stage.
double time_of(const report::StageRows& rows, std::uint32_t stage, StageWork work) {
  std::int64_t sum = 0;
  for (const StageSlice& s : rows.rows[stage].slices) sum += s.work == work ? s.end - s.begin : 0;
  return static_cast<double>(sum) * 1e-12;
}

/// Stages 1 and 2 have blocks only: with full recomputation their backward passes run each kernel of the forward pass once more,
/// and the rest of them is as long as without.
TEST_P(EverySchedule, WhatIsComputedAgainIsApart) {
  auto full = sets();
  full.push_back("parallel.recompute=full");
  auto none = sets();
  none.push_back("parallel.recompute=none");
  const Drawn d_full = drawn(full), d_none = drawn(none);
  const report::StageRows with = rows_of(d_full), without = rows_of(d_none);
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(time_of(without, stage, StageWork::recompute), 0);
    const double again = time_of(with, stage, StageWork::recompute), before = time_of(with, stage, StageWork::forward);
    EXPECT_GT(again, 0.5 * before) << stage;
    EXPECT_LE(again, 1.001 * before) << stage;
    if (stage == 1 || stage == 2) {
      EXPECT_NEAR(again / before, 1, 1e-3);
    }
    const double back = time_of(with, stage, StageWork::backward);
    EXPECT_NEAR(back / time_of(without, stage, StageWork::backward), 1, 1e-3) << stage;
  }
}

TEST(PipelinePicture, OfBlocksThatAreComputedAgainSomeTakeLess) {
  const auto again = [](const char* how) {
    const Drawn d = drawn({std::string("parallel.recompute=") + how});
    return time_of(rows_of(d), 1, StageWork::recompute);
  };
  const double few = again("2"), more = again("4"), all = again("full");
  EXPECT_GT(few, 0);
  EXPECT_NEAR(more / few, 2, 1e-3);
  EXPECT_GT(all, more);
}

INSTANTIATE_TEST_SUITE_P(Pipeline, EverySchedule,
                         testing::Values("gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(PipelinePicture, NumbersMicroBatchesAndShowsTheBubble) {
  const Drawn d = drawn({});
  const std::string picture = report::pipeline_picture(d.prediction.played(), d.order);
  EXPECT_TRUE(picture.starts_with("<svg"));
  for (const char* part :
       {">stage 0<", ">stage 3<", ">16</text>", "idle: the pipeline's bubble", "prefers-color-scheme:dark",
        "stage 2, backward of micro-batch 5", "4 stages, 16 micro-batches"})
    EXPECT_NE(picture.find(part), std::string::npos) << part;
  EXPECT_EQ(picture.find(">17</text>"), std::string::npos);
}

TEST(PipelinePicture, ColoursWhatIsComputedAgain) {
  const Drawn with = drawn({"parallel.recompute=full"}), without = drawn({"parallel.recompute=none"});
  const std::string name = "forward computed again";
  EXPECT_NE(report::pipeline_picture(with.prediction.played(), with.order).find(name), std::string::npos);
  EXPECT_EQ(report::pipeline_picture(without.prediction.played(), without.order).find(name), std::string::npos);
}

TEST(PipelinePicture, IsInThePageOfAPipelineOnly) {
  const Drawn d = drawn({});
  const report::HtmlOptions options{.pipeline = &d.order};
  const std::string none = "\"schedule\":null", page = to_html(d.prediction.report, d.prediction.played(), options);
  EXPECT_EQ(page.find(none), std::string::npos);
  EXPECT_NE(page.find("\"schedule\":{\"begin\":0,"), std::string::npos);
  EXPECT_NE(to_html(d.prediction.report, d.prediction.played()).find(none), std::string::npos);
}

/// Slices and stacks of the JSON are the rows: the time of each kind of work is the same at every resolution, and with the idle
/// rest they fill the picture.
TEST_P(EverySchedule, JsonHoldsTheTimesOfTheRows) {
  const Drawn d = drawn(sets());
  const report::StageRows rows = rows_of(d);
  std::map<std::string, double> expected;
  const std::vector<std::string> names{"forward",       "recompute", "backward", "weights",
                                       "communication", "optimizer", "idle"};
  double all = 0;
  for (const StageRow& row : rows.rows)
    for (const StageSlice& s : row.slices) {
      expected[names[static_cast<std::size_t>(s.work)]] += static_cast<double>(s.end - s.begin);
      all += static_cast<double>(s.end - s.begin);
    }
  for (const std::size_t most : {std::size_t{100'000}, std::size_t{60}}) {
    const auto json = nlohmann::json::parse(report::schedule_json(d.prediction.played(), d.order, most));
    std::map<std::string, double> found;
    double rounding = 1;
    for (const auto& row : json["rows"]) {
      const auto slices = row["slices"].get<std::vector<double>>(), stacks = row["stacks"].get<std::vector<double>>();
      for (std::size_t i = 0; i < slices.size(); i += 5)
        found[names[static_cast<std::size_t>(slices[i + 2])]] += slices[i + 1];
      for (std::size_t i = 0; i < stacks.size(); i += 8) {
        for (std::size_t w = 0; w < 6; ++w) found[names[w]] += stacks[i + 1] * stacks[i + 2 + w] / 1000;
        rounding += stacks[i + 1] * 0.5e-3;
      }
    }
    for (const std::string& name : names) {
      if (name == "idle") continue;
      EXPECT_NEAR(found[name], expected[name], rounding) << name << ", at most " << most;
    }
    EXPECT_NEAR(json["idle"].get<double>(), expected["idle"] / all, 1e-9);
  }
}

TEST(PipelinePicture, SaysWhatOfALongIterationIsDrawn) {
  const Drawn d = drawn({"model.global_batch=256"});
  EXPECT_EQ(d.order.micro_batches, 16);
  EXPECT_EQ(d.order.in_iteration, 128);
  const std::string picture = report::pipeline_picture(d.prediction.played(), d.order);
  EXPECT_NE(picture.find("the first 16 of 128 micro-batches"), std::string::npos);
}

/// 64 stages and 1,000 micro-batches, all of which gpipe plays.
TEST(PipelinePicture, StaysSmallHoweverManyBoxesThereAre) {
  const Drawn d = drawn({"cluster.nodes=8", "model.llm.layers=64", "parallel.pipeline=64", "parallel.schedule=gpipe",
                         "model.global_batch=1000"});
  ASSERT_EQ(d.order.of_stage.size(), 64u);
  ASSERT_EQ(d.order.micro_batches, 1000);
  const std::string picture = report::pipeline_picture(d.prediction.played(), d.order);
  EXPECT_LT(picture.size(), 500'000u);
  EXPECT_GT(picture.size(), 10'000u);
  const std::string json = report::schedule_json(d.prediction.played(), d.order, 10'000);
  EXPECT_LT(json.size(), 500'000u);
  EXPECT_GT(json.size(), 10'000u);
}

TEST(PipelinePicture, OfMoreStagesSomeAreDrawn) {
  const Drawn d = drawn({"cluster.nodes=16", "model.llm.layers=128", "parallel.pipeline=128", "model.global_batch=8"});
  const std::string picture = report::pipeline_picture(d.prediction.played(), d.order);
  EXPECT_NE(picture.find("64 of 128 stages"), std::string::npos);
  EXPECT_NE(picture.find(">stage 127<"), std::string::npos);
}

/// The passes of another job are not drawn over the steps of this one.
TEST(PipelinePicture, OfOtherPassesThanThoseThatWerePlayedThereIsNone) {
  Drawn d = drawn({});
  d.order.of_stage[2].pop_back();
  EXPECT_EQ(report::pipeline_picture(d.prediction.played(), d.order), "");
  d.order.of_stage[2].resize(d.order.of_stage[1].size() + 1);
  EXPECT_EQ(report::pipeline_picture(d.prediction.played(), d.order), "");
}

}  // namespace
}  // namespace distsim::pipeline
