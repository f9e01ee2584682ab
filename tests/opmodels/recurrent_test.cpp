// LSTM and GRU layers: per-step and persistent kernels.
#include <gtest/gtest.h>

#include "device_fixtures.hpp"
#include "opmodels/op_models.hpp"

namespace distsim::opmodels {
namespace {

using graph::Recurrent;
using graph::RecurrentKernels;

OpModels v100() { return *OpModels::create(measured_devices().at("V100-SXM2-32GB")); }
double recurrent_us(const OpModels& models, const Recurrent& op) { return models.price(op).value().mean.us(); }

Recurrent layer(std::int64_t batch, std::int64_t hidden, RecurrentKernels kernels, graph::DType dtype) {
  return {graph::Cell::lstm, batch, 100, 1, hidden, 1, kernels, dtype};
}

/// Diamos et al. 2016: 1152 x 1152 weights in fp32 in the registers of a Titan X (24 SMs, 6.1 TFLOP/s), 4 sequences,
/// 2.8 TFLOP/s: 3.8 us a step. A GRU of 665 units has as many weights.
TEST(Recurrent, APersistentStepTakesWhatWasPublished) {
  DeviceFacts facts{"titan", 52, 24, 1000, 1000, 6.144, 0, 0, 0, 0, 336, 3, 750};
  const OpModels titan = *OpModels::create(device_of(facts));
  Recurrent op{graph::Cell::gru, 4, 1000, 1, 665, 1, RecurrentKernels::persistent};
  const double longer = recurrent_us(titan, op);
  op.length = 500;
  EXPECT_NEAR((longer - recurrent_us(titan, op)) / 500, 3.8, 0.5);
}

TEST(Recurrent, PersistentKernelsPayForSmallBatchesAndStepsForLargeWeights) {
  const auto persistent = RecurrentKernels::persistent, per_step = RecurrentKernels::per_step;
  const auto fp16 = graph::DType::fp16;
  EXPECT_LT(recurrent_us(v100(), layer(16, 512, persistent, fp16)),
            0.6 * recurrent_us(v100(), layer(16, 512, per_step, fp16)));
  const auto refused = v100().price(layer(16, 2048, persistent, fp16));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("recurrent.kernels: found persistent for 2048 units"), std::string::npos);
}

TEST(Recurrent, AnyIsPersistentWherePyTorchAsksForItAndItIsFaster) {
  const auto any = RecurrentKernels::any, persistent = RecurrentKernels::persistent,
             per_step = RecurrentKernels::per_step;
  const auto fp16 = graph::DType::fp16, fp32 = graph::DType::fp32;
  EXPECT_EQ(recurrent_us(v100(), layer(16, 512, any, fp16)), recurrent_us(v100(), layer(16, 512, persistent, fp16)));
  EXPECT_EQ(recurrent_us(v100(), layer(16, 512, any, fp32)), recurrent_us(v100(), layer(16, 512, per_step, fp32)));
  EXPECT_EQ(recurrent_us(v100(), layer(16, 1152, any, fp16)), recurrent_us(v100(), layer(16, 1152, per_step, fp16)));
}

/// Steps wait for each other: a hundred take at least a hundred kernels of each kind, however small.
TEST(Recurrent, StepsAreSequential) {
  const topology::DeviceSpec spec = measured_devices().at("V100-SXM2-32GB");
  const double step = 2 * (spec.launch.kernel_floor.us() + spec.launch.kernel_gap.us());
  EXPECT_GE(recurrent_us(v100(), layer(1, 16, RecurrentKernels::per_step, graph::DType::fp32)), 100 * step);
}

TEST(Recurrent, BothGradientsAreTheSumAndWeightsNeedNoSteps) {
  Recurrent op = layer(16, 1024, RecurrentKernels::any, graph::DType::fp16);
  const double forward = recurrent_us(v100(), op);
  op.pass = graph::Pass::backward_data;
  const double data = recurrent_us(v100(), op);
  op.pass = graph::Pass::backward_weight;
  const double weight = recurrent_us(v100(), op);
  op.pass = graph::Pass::backward;
  EXPECT_NEAR(recurrent_us(v100(), op), data + weight, 1e-3);
  EXPECT_GT(data, forward);
  EXPECT_LT(weight, forward) << "a hundred steps wait for each other, the weights' products do not";
}

TEST(Recurrent, ABidirectionalLayerCostsLessThanTwo) {
  Recurrent op = layer(64, 512, RecurrentKernels::per_step, graph::DType::fp16);
  const double one = recurrent_us(v100(), op);
  op.directions = 2;
  EXPECT_GT(recurrent_us(v100(), op), one);
  EXPECT_LT(recurrent_us(v100(), op), 1.8 * one) << "the two directions' steps run side by side";
}

TEST(Recurrent, RefusesEightBitTypes) {
  const OpModels h100 = *OpModels::create(measured_devices().at("H100-80GB"));
  const auto cost = h100.price(layer(16, 512, RecurrentKernels::any, graph::DType::fp8));
  ASSERT_FALSE(cost.ok());
  EXPECT_NE(cost.error().what.find("recurrent.dtype: found fp8"), std::string::npos);
}

}  // namespace
}  // namespace distsim::opmodels
