// Deep models and long pipelines: what is folded gives what playing all of it gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/random.hpp"
#include "predicted_text.hpp"
#include "sanitizers.hpp"
#include "sim/config/config.hpp"
#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/workload/llm/llm_spec.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

Prediction predicted_with(std::vector<std::string> sets) {
  sets.insert(sets.begin(),
              {"cluster.nodes=8", "parallel.pipeline=4", "parallel.tensor=8", "model.memory_check=false"});
  const auto experiment = config::load_experiment(test::config("megatron_gpt_145b.yaml"), sets);
  EXPECT_TRUE(experiment.ok()) << experiment.error().text();
  Passes passes;
  auto out = predict(*experiment, passes);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return *std::move(out);
}

double iteration_ms(std::int64_t micro_batches, const std::vector<std::string>& more) {
  std::vector<std::string> sets{"model.global_batch=" + std::to_string(2 * micro_batches)};
  sets.insert(sets.end(), more.begin(), more.end());
  return predicted_with(sets).report.iteration.ms();
}

/// Whether it can be predicted; then what is folded takes what playing all of it takes.
bool expect_as_played(const config::Experiment& experiment, const std::string& what) {
  CostModelCache cache;
  Passes passes, others;
  const auto folded = predict(experiment, passes, cache), whole = predict(experiment, others, cache, kAllMicroSteps);
  EXPECT_EQ(folded.ok(), whole.ok()) << what;
  if (!folded.ok() || !whole.ok()) return false;
  const double expected = whole->report.iteration.ms();
  EXPECT_NEAR(folded->report.iteration.ms(), expected, 0.003 * expected) << what;
  return true;
}

/// 4 stages, 2 replicas. 32 micro-batches are played, of 256 the first 16. The clock is locked: under a power limit it follows
/// the mix of kernels, in which the optimizer has a smaller part the more micro-batches there are.
TEST(LlmFolding, ManyMicroBatchesTakeWhatAFewAndTheirRhythmTake) {
  const std::vector<std::vector<std::string>> schedules{
      {"parallel.schedule=interleaved", "parallel.virtual_stages=2"},
      {"parallel.schedule=1f1b", "parallel.virtual_stages=1"},
      {"parallel.schedule=interleaved", "parallel.virtual_stages=2", "parallel.overlap_pipeline=true"}};
  for (const auto& schedule : schedules) {
    std::vector<std::string> sets = schedule;
    sets.push_back("device.clock.locked=1200 MHz");
    const double few = iteration_ms(28, sets), more = iteration_ms(32, sets), many = iteration_ms(256, sets);
    EXPECT_NEAR(many, more + (256 - 32) / 4 * (more - few), 1e-4 * many) << schedule.front();
  }
}

TEST(LlmFolding, WhatIsFoldedIsSaid) {
  const Prediction p = predicted_with({"model.global_batch=512"});
  bool said = false;
  for (const graph::Assumption& a : p.report.context.assumptions)
    said = said || a.text.starts_with("16 of 256 micro-batches are simulated");
  EXPECT_TRUE(said);
  EXPECT_EQ(p.report.context.assumptions.front().text, "batch 512: 2 replicas run 256 micro-steps of 1 sample");
  EXPECT_DOUBLE_EQ(p.report.context.samples, 512);
}

/// The bubble is that of the iteration, not of the micro-batches that are played of it.
TEST(LlmFolding, TheBubbleIsThatOfAllMicroBatches) {
  const auto bubble = [](std::int64_t micro_batches, std::int64_t played) {
    const auto experiment =
        config::load_experiment(test::config("megatron_gpt_145b.yaml"),
                                {"cluster.nodes=8", "parallel.pipeline=4", "parallel.tensor=8",
                                 "model.memory_check=false", "parallel.schedule=1f1b", "parallel.virtual_stages=1",
                                 "model.global_batch=" + std::to_string(2 * micro_batches)});
    EXPECT_TRUE(experiment.ok()) << experiment.error().text();
    Passes passes;
    CostModelCache cache;
    const auto p = predict(*experiment, passes, cache, played);
    EXPECT_TRUE(p.ok()) << p.error().text();
    for (const graph::Assumption& a : p->report.context.assumptions) {
      const std::string start = "the bubble would be ";
      if (const std::size_t at = a.text.find(start); at != a.text.npos) return a.text.substr(at + start.size(), 3);
    }
    return std::string();
  };
  EXPECT_EQ(bubble(64, kAllMicroSteps), "4.4") << "3 of 67";
  EXPECT_EQ(bubble(64, kPlayedMicroSteps), "4.4");
  EXPECT_EQ(bubble(600, kPlayedMicroSteps), "0.4") << "3 of 603";
}

TEST(LlmFolding, DepthAddsNoTask) {
  const auto tasks = [](const char* layers) {
    return predicted_with({"model.global_batch=32", std::string("model.llm.layers=") + layers})
        .costed->graph.tasks.size();
  };
  EXPECT_EQ(tasks("16"), tasks("160"));
}

/// A task stands for the collectives of many layers; a table counts them.
TEST(LlmFolding, CallsOfCollectivesGrowWithDepthAndBatch) {
  const auto row = [](const char* layers, const char* batch) {
    const auto rows =
        predicted_with({std::string("model.global_batch=") + batch, std::string("model.llm.layers=") + layers})
            .report.collectives;
    const auto found = std::ranges::find_if(
        rows, [](const report::CollectiveTime& c) { return c.name.starts_with("tensor") && c.kind == "all_reduce"; });
    EXPECT_NE(found, rows.end());
    return *found;
  };
  const report::CollectiveTime shallow = row("16", "32"), deep = row("160", "32"), large = row("16", "256");
  EXPECT_GE(shallow.calls, 4u * 16 / 4 * 16) << "4 a layer and micro-batch, on each of 4 stages";
  EXPECT_NEAR(deep.calls, 10.0 * shallow.calls, 0.1 * deep.calls);
  EXPECT_NEAR(large.calls, 8.0 * shallow.calls, 0.1 * large.calls);
  EXPECT_NEAR(double(deep.bytes) / deep.calls, double(shallow.bytes) / shallow.calls,
              0.05 * double(deep.bytes) / deep.calls);
}

TEST(LlmFolding, TokensAndDimensionsAreReported) {
  const Prediction p = predicted_with({"model.global_batch=32"});
  const std::string text = report::to_text(p.report), json = report::to_json(p.report);
  EXPECT_NE(text.find(" tokens/s, "), std::string::npos) << text;
  EXPECT_NE(text.find("exposed communication: "), std::string::npos) << text;
  EXPECT_NE(text.find("memory of rank "), std::string::npos) << text;
  EXPECT_NE(json.find("tokens_per_second_per_gpu"), std::string::npos);
  const Prediction alike = predicted_with(
      {"model.global_batch=32", "parallel.pipeline=1", "parallel.virtual_stages=1", "parallel.schedule=1f1b"});
  EXPECT_EQ(alike.report.context.memory.size(), 1u) << "all ranks hold the same";
}

/// Calls and bytes of collectives: of 64 micro-batches 16 are played, and the rest follows.
TEST(LlmFolding, TheTableOfCollectivesIsThatOfTheWholeIteration) {
  const auto experiment = config::load_experiment(
      test::config("megatron_gpt_145b.yaml"),
      {"cluster.nodes=8", "parallel.pipeline=4", "parallel.tensor=8", "parallel.virtual_stages=1",
       "parallel.schedule=1f1b", "model.memory_check=false", "model.global_batch=128"});
  ASSERT_TRUE(experiment.ok()) << experiment.error().text();
  CostModelCache cache;
  Passes passes, others;
  const auto folded = predict(*experiment, passes, cache), whole = predict(*experiment, others, cache, kAllMicroSteps);
  ASSERT_TRUE(folded.ok() && whole.ok());
  ASSERT_EQ(folded->report.collectives.size(), whole->report.collectives.size());
  for (const report::CollectiveTime& row : whole->report.collectives) {
    const auto same = std::ranges::find_if(folded->report.collectives, [&](const report::CollectiveTime& c) {
      return c.name == row.name && c.kind == row.kind && c.group_size == row.group_size;
    });
    ASSERT_NE(same, folded->report.collectives.end()) << row.name;
    EXPECT_NEAR(static_cast<double>(same->bytes), static_cast<double>(row.bytes), 0.01 * static_cast<double>(row.bytes))
        << row.name;
    EXPECT_NEAR(same->calls, row.calls, 0.01 * row.calls + 1) << row.name;
  }
}

/// Gradients and weights of the iteration before hide the first micro-batches: from those alone 512 took as long as 160.
TEST(LlmFolding, WhatTheIterationBeforeLeavesHidesNoMicroBatches) {
  for (const char* batch : {"160", "256", "512"}) {
    const auto experiment = experiment_of(
        "cluster: {system: kestrel_h100, nodes: 8}\n"
        "model: {name: deepseek_v3_l4, per_gpu_batch: 0, global_batch: " +
        std::string(batch) +
        ", memory_check: false}\nframework: {name: megatron_core}\n"
        "parallel: {tensor: 2, pipeline: 2, micro_batch: 1, recompute: none, shard: optimizer}\n");
    ASSERT_TRUE(experiment.ok()) << experiment.error().text();
    EXPECT_TRUE(expect_as_played(*experiment, batch));
  }
}

/// Hosts that are the limit of a pipeline fed from both ends find their rhythm late.
TEST(LlmFolding, HostBoundDualpipeTakesWhatPlayingAllOfItTakes) {
  for (const char* pipeline : {"2", "4", "8"}) {
    const auto experiment = config::load_experiment(
        test::config("megatron_gpt_145b.yaml"),
        {"cluster.nodes=1", std::string("cluster.gpus_per_node=") + pipeline, "model.llm.layers=8",
         "model.llm.hidden=1024", "model.llm.heads=16", "parallel.tensor=1",
         std::string("parallel.pipeline=") + pipeline, "parallel.virtual_stages=1", "parallel.micro_batch=1",
         "framework.name=megatron_core", "framework.host.per_launch=100 us", "parallel.recompute=none",
         "parallel.schedule=dualpipe", "device.clock.locked=1200 MHz", "model.global_batch=320"});
    ASSERT_TRUE(experiment.ok()) << experiment.error().text();
    EXPECT_TRUE(expect_as_played(*experiment, pipeline));
  }
}

/// Whatever is the limit of the first micro-batches: weights that are gathered, gradients of the iteration before, a slow network.
/// DISTSIM_MORE_LAYOUTS=600 draws so many.
TEST(LlmFolding, RandomLayoutsTakeWhatPlayingAllOfThemTakes) {
  Random random(20'261'126);
  const auto one_of = [&](std::initializer_list<const char*> list) {
    return std::string(*(list.begin() + static_cast<std::ptrdiff_t>(random.below(list.size()))));
  };
  const char* const more = std::getenv("DISTSIM_MORE_LAYOUTS");
  const int layouts = more != nullptr ? std::atoi(more) : test::has_address_sanitizer() ? 4 : 24;
  int folded = 0;
  for (int i = 0; i < layouts; ++i) {
    const std::string system =
        one_of({"kestrel_h100", "pcie_a100", "oci_gpu4", "p4d_a100_40gb", "dgx_h100", "g4dn_t4"});
    const int pipeline = 1 << (1 + random.below(2)), tensor = 1 << random.below(2);
    const int steps = pipeline * static_cast<int>(9 + random.below(8));
    const std::string text =
        "cluster: {system: " + system + ", nodes: 4, gpus_per_node: 4}\nmodel: {name: " +
        one_of({"deepseek_v2_l4", "mixtral_8x7b", "t5_v11_large", "llama3_8b", "gpt_bigscience_1_3b"}) +
        ", per_gpu_batch: 0, global_batch: " + std::to_string(16 / (pipeline * tensor) * steps) +
        ", memory_check: false, precision: fp16}\nframework: {name: " + one_of({"megatron_core", "internevo", "nemo"}) +
        "}\nparallel: {pipeline: " + std::to_string(pipeline) + ", tensor: " + std::to_string(tensor) +
        ", micro_batch: 1, recompute: " + one_of({"none", "full"}) + ", shard: " + one_of({"none", "optimizer"}) +
        ", schedule: 1f1b}\n";
    const auto experiment = experiment_of(text, {"device.clock.locked=1000 MHz"});
    if (!experiment.ok()) continue;  // heads that do not divide
    folded += expect_as_played(*experiment, std::to_string(steps) + " micro-batches\n" + text) ? 1 : 0;
  }
  EXPECT_GT(2 * folded, layouts);
}

}  // namespace
}  // namespace distsim::pipeline
