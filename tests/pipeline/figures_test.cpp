// The figures of a table are those of the whole prediction, to the picosecond, whichever way an experiment is played.
#include <gtest/gtest.h>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

struct PlayedCase {
  std::string config;
  std::vector<std::string> sets;
};

config::Experiment experiment_of_case(const PlayedCase& p) {
  const auto e = config::load_experiment(test::config(p.config), p.sets);
  EXPECT_TRUE(e.ok()) << e.error().text();
  return *e;
}

void expect_figures_of_prediction(const config::Experiment& e, CostModelCache& cache, const FixedWork& work) {
  Passes passes;
  const auto whole = predict(e, passes);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  const auto figures = predict_figures(e, cache, work);
  ASSERT_TRUE(figures.ok()) << figures.error().text();
  EXPECT_EQ(figures->iteration, whole->report.iteration);
  EXPECT_EQ(figures->samples_per_second, whole->report.samples_per_second);
  EXPECT_EQ(report::text_of(figures->limited_by), report::text_of(whole->report.limits.limited_by));
}

/// Where the time goes is the same in the row of a sweep and in the report.
void expect_parts_of_prediction(const config::Experiment& e, CostModelCache& cache) {
  Passes passes;
  const auto whole = predict(e, passes);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  const auto row = predict_figures(e, cache, report::Transfers::summed);
  ASSERT_TRUE(row.ok()) << row.error().text();
  const report::Report &a = *row, &b = whole->report;
  EXPECT_EQ(a.iteration, b.iteration);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.compute, b.compute);
  EXPECT_EQ(a.exposed_comm, b.exposed_comm);
  EXPECT_EQ(a.waiting, b.waiting);
  EXPECT_EQ(a.host_bound, b.host_bound);
  EXPECT_EQ(a.idle, b.idle);
  EXPECT_EQ(a.comm, b.comm);
  EXPECT_EQ(a.hidden_comm, b.hidden_comm);
}

class Figures : public testing::TestWithParam<PlayedCase> {};

TEST_P(Figures, AreThoseOfThePrediction) {
  CostModelCache cache;
  const config::Experiment e = experiment_of_case(GetParam());
  const auto work = fixed_work_of(e);
  ASSERT_TRUE(work.ok()) << work.error().text();
  expect_figures_of_prediction(e, cache, *work);
  expect_parts_of_prediction(e, cache);
}

/// The work of an experiment serves it with other links, GPUs and hosts.
TEST_P(Figures, KeepTheWorkWhereOnlyHardwareChanges) {
  CostModelCache cache;
  const config::Experiment base = experiment_of_case(GetParam());
  const auto work = fixed_work_of(base);
  ASSERT_TRUE(work.ok()) << work.error().text();
  config::Experiment links = base, gpu = base, host = base;
  links.cluster.nic.bandwidth = BytesPerSecond(base.cluster.nic.bandwidth.value() / 3);
  gpu.device.hbm.bandwidth = BytesPerSecond(base.device.hbm.bandwidth.value() / 2);
  gpu.device.l2.bandwidth = BytesPerSecond(base.device.l2.bandwidth.value() / 2);
  host.cluster.host.dispatch_scale *= 3;
  for (const config::Experiment& e : {links, gpu, host}) expect_figures_of_prediction(e, cache, *work);
}

INSTANTIATE_TEST_SUITE_P(
    Experiments, Figures,
    testing::Values(PlayedCase{"dgx_a100_4node.yaml", {}},
                    PlayedCase{"dgx_a100_4node.yaml", {"engine.contention=true", "cluster.nodes=2"}},
                    PlayedCase{"dgx_a100_4node.yaml", {"engine.slow_gpus=[{rank: 3, speed: 0.7}]"}},
                    PlayedCase{"dgx_a100_4node.yaml", {"framework.input.per_sample=5 us"}},
                    PlayedCase{"dgx_a100_4node.yaml", {"framework.input.per_sample=1 us"}},
                    PlayedCase{"resnet50_dgx_a100.yaml", {"framework.input.decode_rate=2000"}},
                    PlayedCase{"dlrm_skewed_2node.yaml", {"framework.input.per_sample=1 us"}},
                    PlayedCase{"dlrm_skewed_2node.yaml", {}},    // ranks differ
                    PlayedCase{"bert_large_dgx_a100.yaml", {}},  // micro-steps are folded
                    PlayedCase{"megatron_gpt_7_5b.yaml", {}},    // micro-batches of a pipeline are
                    PlayedCase{"resnet50_dgx_a100.yaml", {"cluster.nodes=1"}}));

}  // namespace
}  // namespace distsim::pipeline
