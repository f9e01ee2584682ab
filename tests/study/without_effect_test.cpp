#include "sim/study/without_effect.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/reference.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::study {
namespace {

constexpr const char* kExperiment =
    "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: dlrm_mlperf, global_batch: 8192}\nframework: {name: "
    "pytorch}\n";

std::vector<std::string> idle_keys(const std::vector<std::string>& sets) {
  const auto parsed = config::parse_experiment_text(kExperiment, "x.yaml", sets);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  const auto experiment = config::resolve(*parsed);
  EXPECT_TRUE(experiment.ok()) << experiment.error().text();
  pipeline::Passes passes;
  pipeline::CostModelCache cache;
  const auto prediction = pipeline::predict(*experiment, passes, cache);
  EXPECT_TRUE(prediction.ok()) << prediction.error().text();
  std::vector<std::string> keys;
  for (const GivenKey& k : keys_without_effect(*parsed, *experiment, prediction->report, false, 2, cache))
    keys.push_back(k.key);
  return keys;
}

TEST(KeysWithoutEffect, ThoseThatAreHeededAreNotNamed) {
  EXPECT_EQ(idle_keys({}), std::vector<std::string>{});
  EXPECT_EQ(idle_keys({"cluster.nic.bandwidth=100 Gb/s", "device.hbm.capacity=70 GB", "framework.uncertainty=0.5",
                       "framework.host.per_op=3 us", "model.dlrm.tables.3.rows=5000000", "model.precision=fp32"}),
            std::vector<std::string>{});
}

TEST(KeysWithoutEffect, ThoseOfAnotherFamilyAre) {
  EXPECT_EQ(idle_keys({"parallel.tensor=8", "model.global_batch=16384", "model.transformer.layers=7"}),
            (std::vector<std::string>{"model.transformer.layers", "parallel.tensor"}));
}

TEST(KeysWithoutEffect, RepeatingWhatHoldsAnywayIsNoWish) {
  EXPECT_EQ(idle_keys({"parallel.tensor=1", "model.accumulation=1", "engine.jobs=1"}), std::vector<std::string>{});
}

TEST(KeysWithoutEffect, AListThatRepeatsTheDefaultIsNoWish) {
  EXPECT_EQ(config::default_of("model.dlrm.bottom_mlp"), "[512, 256, 128]");
  const auto parsed = config::parse_experiment_text(
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {kind: dlrm, global_batch: 8192, dlrm: {tables: [{rows: "
      "100000, count: 8}], bottom_mlp: [512, 256, 128]}}\n",
      "x.yaml", {});
  const auto experiment = config::resolve(*parsed);
  ASSERT_TRUE(experiment.ok()) << experiment.error().text();
  pipeline::Passes passes;
  pipeline::CostModelCache cache;
  const auto prediction = pipeline::predict(*experiment, passes, cache);
  ASSERT_TRUE(prediction.ok()) << prediction.error().text();
  EXPECT_TRUE(keys_without_effect(*parsed, *experiment, prediction->report, false, 2, cache).empty());
}

TEST(KeysWithoutEffect, TrialsReadMore) {
  const auto parsed = config::parse_experiment_text(kExperiment, "x.yaml", {"device.calibration.speed_variation=0.1"});
  pipeline::CostModelCache cache;
  EXPECT_TRUE(has_effect(*parsed, "device.calibration.speed_variation", cache).value_or(false));
}

TEST(HasEffect, SaysNothingOfNamesAndOfKeysThatAreNeeded) {
  const auto parsed = config::parse_experiment_text(kExperiment, "x.yaml", {});
  pipeline::CostModelCache cache;
  EXPECT_FALSE(has_effect(*parsed, "cluster.system", cache).has_value());
  EXPECT_FALSE(has_effect(*parsed, "model.name", cache).has_value());
  EXPECT_FALSE(has_effect(*parsed, "engine.jobs", cache).has_value());
  EXPECT_TRUE(has_effect(*parsed, "cluster.nodes", cache).value_or(false));
}

TEST(Describe, OneLine) {
  EXPECT_EQ(describe({}), "");
  EXPECT_EQ(describe({{"a.b", "x.yaml:1:2"}, {"c", "--set c"}}),
            "no effect on this prediction: a.b (x.yaml:1:2), c (--set)");
}

}  // namespace
}  // namespace distsim::study
