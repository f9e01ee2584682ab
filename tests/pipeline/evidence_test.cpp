// What fitted corrections rest on: which bound they go by, and how far a range opens where nothing was fitted.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/config/config.hpp"
#include "sim/pipeline/device_models.hpp"
#include "sim/pipeline/experiment_inputs.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::pipeline {
namespace {

config::Experiment experiment_on(const std::string& device, std::vector<std::string> sets = {}) {
  sets.insert(sets.end(), {"cluster.system=dgx_a100_80gb", "cluster.device=" + device, "model.name=resnet50_v1_5",
                           "framework.name=pytorch"});
  return config::resolve(config::parse_experiment_text("title: test\n", "test", sets).value()).value();
}

TEST(Evidence, ARangeIsWiderOnAGenerationThatNothingWasFittedOn) {
  const auto known = experiment_on("a100_sxm4_80gb"), unknown = experiment_on("b200");
  ASSERT_GT(known.device.calibration.evidence.rows, 0);
  ASSERT_EQ(unknown.device.calibration.evidence.rows, 0);
  const double own = known.framework.uncertainty;
  EXPECT_DOUBLE_EQ(report_context_of(known, {}).uncertainty, own);
  EXPECT_NEAR(report_context_of(unknown, {}).uncertainty, std::hypot(own, 0.14), 1e-9);
}

/// A product near the ridge, so that four times the matrix rate hands it over to memory.
graph::Cost cost_of_product(const config::Experiment& e) {
  const graph::Op product = graph::Gemm{1, 8192, 8192, 256, graph::DType::fp16};
  return op_models_of(e.device).value().price(product).value();
}

TEST(Evidence, CorrectionsGoByTheDeviceOfTheFile) {
  const auto file = experiment_on("a100_sxm4_80gb"),
             faster = experiment_on("a100_sxm4_80gb", {"device.peak.fp16=1248 TFLOP/s"});
  const graph::Cost before = cost_of_product(file), after = cost_of_product(faster);
  EXPECT_GT(before.shares.matrix, 2 * after.shares.matrix) << "what bounds it on the device that is asked for";
  EXPECT_DOUBLE_EQ(before.shares.matrix, before.described_shares.matrix);
  const double busy_before = before.described_shares.matrix + before.described_shares.memory;
  const double busy_after = after.described_shares.matrix + after.described_shares.memory;
  EXPECT_NEAR(before.described_shares.matrix / busy_before, after.described_shares.matrix / busy_after, 1e-9);
}

}  // namespace
}  // namespace distsim::pipeline
