// A long accumulation that is folded says the same as one that is played out.
#include "sim/report/fold.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/folds.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

report::Report report_of(const std::string& config, const std::vector<std::string>& sets, std::int64_t played) {
  const config::Experiment e = config::load_experiment(test::config(config), sets).value();
  Passes passes;
  CostModelCache cache;
  return predict(e, passes, cache, played).value().report;
}

void expect_close(Duration folded, Duration played, double tolerance, const char* what) {
  EXPECT_NEAR(folded.ms(), played.ms(), tolerance * played.ms() + 1e-6) << what;
}

void compare(const std::string& config, const std::vector<std::string>& sets) {
  const report::Report folded = report_of(config, sets, 4), played = report_of(config, sets, 12);
  expect_close(folded.iteration, played.iteration, 1e-3, "iteration");
  expect_close(folded.compute, played.compute, 1e-3, "compute");
  expect_close(folded.comm, played.comm, 1e-3, "comm");
  EXPECT_NEAR(folded.samples_per_second / played.samples_per_second, 1, 1e-3);
  EXPECT_NEAR(folded.mfu / played.mfu, 1, 1e-3);
  EXPECT_EQ(folded.compute + folded.exposed_comm + folded.waiting + folded.host_bound + folded.idle, folded.iteration);
  for (const report::RankTime& r : folded.ranks)
    EXPECT_EQ(r.compute + r.exposed_comm + r.waiting + r.host_bound + r.idle, folded.iteration);
  Duration path;
  for (const report::CriticalStep& s : folded.critical_path) path += s.time;
  EXPECT_EQ(path, folded.iteration);
  ASSERT_EQ(folded.ops.front().kind, played.ops.front().kind);
  expect_close(folded.ops.front().time, played.ops.front().time, 1e-3, "ops");
  EXPECT_EQ(folded.ops.front().kernels, played.ops.front().kernels);
}

TEST(Fold, GpuBoundBert) { compare("bert_large_dgx_a100.yaml", {"model.global_batch=49152", "model.accumulation=12"}); }

TEST(Fold, HostBoundBert) { compare("bert_large_dgx_a100.yaml", {"model.global_batch=384", "model.accumulation=12"}); }

TEST(Fold, ShortAccumulationsArePlayedOut) {
  const report::Report r =
      report_of("bert_large_dgx_a100.yaml", {"model.global_batch=4096", "model.accumulation=4"}, 4);
  for (const auto& a : r.context.assumptions) EXPECT_NE(a.kind, graph::AssumptionKind::folding) << a.text;
}

/// Host time once an iteration, or gradients of the one before, hide the first micro-steps: what those add says nothing of the
/// others, of which more are played then.
TEST(Fold, WhatDoesNotGrowHidesNoMicroSteps) {
  for (const int steps : {16, 32, 64, 128}) {
    const std::vector<std::string> sets{"cluster.nodes=1",
                                        "model.per_gpu_batch=0",
                                        "framework.name=mxnet_horovod",
                                        "framework.host.per_step=1 s",
                                        "model.accumulation=" + std::to_string(steps),
                                        "model.global_batch=" + std::to_string(2048 * steps)};
    const auto folded = report_of("resnet50_dgx_a100.yaml", sets, 4),
               whole = report_of("resnet50_dgx_a100.yaml", sets, kAllMicroSteps);
    EXPECT_NEAR(folded.iteration.ms(), whole.iteration.ms(), 0.002 * whole.iteration.ms()) << steps;
    Duration cycle;
    for (const report::Resource r : {report::Resource::host_loop, report::Resource::network, report::Resource::compute,
                                     report::Resource::memory, report::Resource::input})
      cycle += folded.limits[r].on_cycle;
    EXPECT_NEAR(cycle.ms(), folded.iteration.ms(), 1e-6 * folded.iteration.ms()) << steps;
  }
}

/// One sample more makes one of the micro-steps longer, not all of them.
TEST(Fold, MicroStepsOfTwoSizesArePlayedOut) {
  const auto iteration_of = [](int batch, std::int64_t played) {
    return report_of("resnet50_dgx_a100.yaml",
                     {"cluster.nodes=1", "cluster.gpus_per_node=1", "model.per_gpu_batch=0", "model.memory_check=false",
                      "model.accumulation=8", "model.resnet.image=2048", "model.global_batch=" + std::to_string(batch)},
                     played)
        .iteration;
  };
  const Duration eight = iteration_of(8, 4), nine = iteration_of(9, 4), sixteen = iteration_of(16, 4);
  EXPECT_EQ(nine, iteration_of(9, kAllMicroSteps));
  EXPECT_GT(nine, eight);
  EXPECT_LT((nine - eight).ms(), 0.3 * (sixteen - eight).ms());
}

/// So many that only blocks of them are played: what a few samples more cost.
TEST(Fold, ManyMicroStepsOfTwoSizesAreFoldedInTheirProportion) {
  const auto iteration_of = [](int batch) {
    return report_of(
        "resnet50_dgx_a100.yaml",
        {"cluster.nodes=1", "cluster.gpus_per_node=1", "model.per_gpu_batch=0", "model.memory_check=false",
         "model.accumulation=513", "model.resnet.image=2048", "model.global_batch=" + std::to_string(batch)},
        4);
  };
  const report::Report least = iteration_of(513), most = iteration_of(1026);
  double before = least.iteration.ms();
  for (const int more : {1, 2, 32, 200, 256, 300, 500, 512}) {
    const report::Report r = iteration_of(513 + more);
    const double expected = least.iteration.ms() + (most.iteration - least.iteration).ms() * more / 513;
    EXPECT_NEAR(r.iteration.ms(), expected, 0.01 * expected) << more;
    EXPECT_GE(r.iteration.ms(), before) << more;
    before = r.iteration.ms();
    EXPECT_EQ(r.context.samples, 513 + more);
    EXPECT_NEAR(r.context.model_flops / r.context.samples, least.context.model_flops / 513,
                1e-6 * least.context.model_flops / 513);
  }
}

/// The batch that is named is that of all micro-steps, once, and what was folded is said.
TEST(Fold, AssumptionsAreThoseOfTheWholeIteration) {
  const report::Report r =
      report_of("bert_large_dgx_a100.yaml", {"model.global_batch=49152", "model.accumulation=12"}, 4);
  std::vector<std::string> batch, folding;
  for (const auto& a : r.context.assumptions) {
    if (a.kind == graph::AssumptionKind::batch) batch.push_back(a.text);
    if (a.kind == graph::AssumptionKind::folding) folding.push_back(a.text);
  }
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_NE(batch[0].find("49152"), std::string::npos) << batch[0];
  EXPECT_EQ(folding, std::vector<std::string>{
                         "4 of 12 micro-steps are simulated, the others assumed to be like the last of them"});
}

}  // namespace
}  // namespace distsim::pipeline
