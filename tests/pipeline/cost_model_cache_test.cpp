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
