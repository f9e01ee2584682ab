#include "sim/pipeline/cost_model_cache.hpp"

#include <gtest/gtest.h>

#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

CostModelInputs flagship() {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), {}).value();
  return {e.cluster, e.device, e.collectives};
}

TEST(CostModelCache, EqualMachinesShareTheirModels) {
  CostModelCache cache;
  const auto first = cache.models(flagship()).value();
  EXPECT_EQ(cache.models(flagship()).value(), first);
}

/// Every part of the inputs counts.
TEST(CostModelCache, OtherMachinesHaveTheirOwn) {
  CostModelCache cache;
  const auto first = cache.models(flagship()).value();
  CostModelInputs nodes = flagship(), nic = flagship(), clock = flagship(), curves = flagship();
  nodes.cluster.nodes = 5;
  nic.cluster.nic.bandwidth = BytesPerSecond(1e9);
  clock.device.clock.sustained = Hertz(clock.device.clock.sustained.value() / 2);
  curves.collectives.use_curves = false;
  for (const CostModelInputs& other : {nodes, nic, clock, curves}) EXPECT_NE(cache.models(other).value(), first);
  EXPECT_EQ(cache.models(flagship()).value(), first);
}

TEST(CostModelCache, ForgetsTheLeastLatelyUsed) {
  CostModelCache cache;
  const auto first = cache.models(flagship()).value();
  CostModelInputs other = flagship();
  for (std::int64_t nodes = 5; nodes < 5 + 40; ++nodes) {
    other.cluster.nodes = nodes;
    ASSERT_TRUE(cache.models(other).ok());
  }
  EXPECT_NE(cache.models(flagship()).value(), first);
}

/// What models of other figures share of what they have worked out changes no price.
TEST(CostModelCache, PricesDoNotDependOnModelsMadeBefore) {
  const std::vector<graph::Op> ops{
      graph::Gemm{1, 2048, 1024, 512, graph::DType::fp16},
      graph::Gemm{1, 2048, 1024, 512, graph::DType::fp32},
      graph::Elementwise{1'000'000},
      graph::Normalization{graph::NormKind::layer, 8192, 1024, graph::DType::fp16},
      graph::Normalization{graph::NormKind::batch, 8192, 64},
      graph::Softmax{4096, 512, graph::DType::fp16},
      graph::Softmax{4096, 512, graph::DType::fp16, graph::Pass::backward},
      graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1},
      graph::Conv2d{32, 64, 56, 56, 64, 3, 3, 1, 1, 1, 1, graph::DType::fp32, true, graph::Pass::backward},
      graph::Copy{graph::CopyKind::h2d, 1'000'000}};
  CostModelInputs hbm = flagship(), l2 = flagship(), memory = flagship(), other = flagship();
  hbm.device.hbm.bandwidth = BytesPerSecond(hbm.device.hbm.bandwidth.value() / 2);
  l2.device.l2.bandwidth = BytesPerSecond(l2.device.l2.bandwidth.value() * 2);
  memory.device.hbm.capacity = Bytes(memory.device.hbm.capacity.value() * 2);
  other.device = config::load_device("h100_sxm5_80gb").value();
  CostModelCache cache;
  for (const CostModelInputs& inputs : {flagship(), hbm, l2, memory, other, hbm}) {
    const auto kept = cache.models(inputs).value(), fresh = make_cost_models(inputs).value();
    for (const graph::Op& op : ops) {
      const graph::Cost a = kept->op_prices->of(op, kept->ops).value(), b = fresh->ops.price(op).value();
      EXPECT_EQ(a.mean, b.mean) << graph::describe(op);
      EXPECT_EQ(a.low, b.low) << graph::describe(op);
      EXPECT_EQ(a.high, b.high) << graph::describe(op);
      EXPECT_EQ(a.source, b.source) << graph::describe(op);
    }
  }
}

/// Prices are kept where nothing that they depend on has changed.
TEST(CostModelCache, KeepsPricesWhereRatesAreEqual) {
  CostModelInputs memory = flagship(), nic = flagship(), hbm = flagship();
  memory.device.hbm.capacity = Bytes(memory.device.hbm.capacity.value() * 2);
  nic.cluster.nic.bandwidth = BytesPerSecond(1e9);
  hbm.device.hbm.bandwidth = BytesPerSecond(hbm.device.hbm.bandwidth.value() / 2);
  CostModelCache cache;
  const auto prices = cache.models(flagship()).value()->op_prices;
  EXPECT_EQ(cache.models(memory).value()->op_prices, prices);
  EXPECT_EQ(cache.models(nic).value()->op_prices, prices);
  EXPECT_NE(cache.models(hbm).value()->op_prices, prices);
}

/// A kept model gives the same prediction as a new one.
TEST(CostModelCache, PredictionsDoNotDependOnIt) {
  const config::Experiment e = config::load_experiment(test::config("dgx_a100_4node.yaml"), {}).value();
  CostModelCache cache;
  Passes a, b, c;
  const auto fresh = predict(e, a).value(), first = predict(e, b, cache).value(), again = predict(e, c, cache).value();
  EXPECT_EQ(fresh.timeline->digest, first.timeline->digest);
  EXPECT_EQ(fresh.timeline->digest, again.timeline->digest);
}

}  // namespace
}  // namespace distsim::pipeline
