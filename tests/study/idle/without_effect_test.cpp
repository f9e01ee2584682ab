#include "sim/study/idle/without_effect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "sim/config/reference.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "test_paths.hpp"

namespace distsim::study {
namespace {

constexpr const char* kExperiment =
    "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: dlrm_mlperf, global_batch: 8192}\nframework: {name: "
    "pytorch}\n";

std::vector<std::string> idle_keys(const std::vector<std::string>& sets, const std::string& text = kExperiment,
                                   const std::string& file = "x.yaml") {
  const auto parsed = config::parse_experiment_text(text, file, sets);
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
  EXPECT_EQ(idle_keys({"parallel.tensor=8", "model.global_batch=16384", "model.transformer_xl.layers=7"}),
            (std::vector<std::string>{"model.transformer_xl.layers", "parallel.tensor"}));
}

/// Half of an odd number is the whole one below it.
TEST(KeysWithoutEffect, ABoundThatIsNotReachedIsNamedWhetherItIsEvenOrOdd) {
  const std::string gpt =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {name: gpt2_small, global_batch: 8}\n"
      "parallel: {tensor: 2}\nframework: {name: megatron_core}\n";
  for (const char* bytes : {"12", "13", "14"}) {
    const std::string set = std::string("framework.memory.step_bytes=") + bytes;
    EXPECT_EQ(idle_keys({set}, gpt), std::vector<std::string>{"framework.memory.step_bytes"}) << bytes;
  }
}

TEST(KeysWithoutEffect, RepeatingWhatHoldsAnywayIsNoWish) {
  EXPECT_EQ(idle_keys({"parallel.tensor=1", "model.accumulation=1", "engine.jobs=1"}), std::vector<std::string>{});
}

/// The layout that a model suggests is the section parallel's, by whichever name a key is written.
TEST(KeysWithoutEffect, RepeatingTheLayoutOfTheModelIsNoWishByEitherName) {
  const std::string gpt =
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: megatron_gpt_7_5b, global_batch: 64}\n"
      "framework: {name: megatron}\n";
  for (const char* set : {"parallel.tensor=4", "model.parallel.tensor=4", "model.parallel={tensor: 4}",
                          "model.parallel.tensor=8", "model.parallel.recompute=full"})
    EXPECT_EQ(idle_keys({set}, gpt), std::vector<std::string>{}) << set;
}

TEST(KeysWithoutEffect, AKeyOfSetStandsAgainstTheValueOfTheFile) {
  const std::string limited = std::string(kExperiment) + "device: {power_limit: 100 W}\n";
  EXPECT_EQ(idle_keys({}, limited), std::vector<std::string>{});
  EXPECT_EQ(idle_keys({"device.power_limit=250 W"}, limited), std::vector<std::string>{}) << "faster than with 100 W";
  EXPECT_EQ(idle_keys({"device.power_limit=90 W", "device.power_limit=250 W"}, limited), std::vector<std::string>{});
  EXPECT_EQ(idle_keys({"device={power_limit: 250 W}"}, limited), std::vector<std::string>{});
  EXPECT_EQ(idle_keys({"device={power_limit: 90 W}", "device.power_limit=250 W"}, limited), std::vector<std::string>{});
  const std::string loose = std::string(kExperiment) + "device: {power_limit: 380 W}\n";
  EXPECT_EQ(idle_keys({"device.power_limit=390 W"}, loose), std::vector<std::string>{"device.power_limit"});
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

/// A model file of one's own, beside the experiment, that suggests a layout: its keys are looked at, and those of --set.
TEST(KeysWithoutEffect, AModelOfOnesOwnWithALayoutHidesNothing) {
  const std::string folder = test::scratch_dir("own_model");
  std::filesystem::create_directories(folder + "/models");
  std::string model = read_file(test::config("models/megatron_gpt_7_5b.yaml"), 1 << 16).value();
  ASSERT_NE(model.find("\nparallel:\n"), std::string::npos);
  model += "resnet: {classes: 7}\n";
  ASSERT_TRUE(write_file_atomically(folder + "/models/megatron_gpt_7_5b.yaml", model).ok());
  const std::string text =
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: megatron_gpt_7_5b, global_batch: 64}\nframework: {name: "
      "megatron}\n";
  EXPECT_EQ(idle_keys({"model.rnn.encoder_layers=3", "parallel.micro_batch=2"}, text, folder + "/x.yaml"),
            (std::vector<std::string>{"model.resnet.classes", "model.rnn.encoder_layers"}));
  // Without it the full recomputation of the file would hold.
  EXPECT_EQ(idle_keys({"parallel.recompute=none"}, text, folder + "/x.yaml"),
            std::vector<std::string>{"model.resnet.classes"});
}

/// A limit that is not reached, whatever a larger or smaller one would do.
TEST(KeysWithoutEffect, BoundsThatAreNotReachedAre) {
  const std::string dlrm =
      "cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: dlrm_mlperf, global_batch: 65536}\nframework: {name: "
      "pytorch_dlrm}\n";
  EXPECT_EQ(idle_keys({"device.power_limit=300 W"}, dlrm), std::vector<std::string>{"device.power_limit"});
  EXPECT_EQ(idle_keys({"device.power_limit=100 W"}, dlrm), std::vector<std::string>{});
  const std::string gpt =
      "cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: megatron_gpt_7_5b, global_batch: 128}\nframework: "
      "{name: megatron}\n";
  EXPECT_EQ(idle_keys({"cluster.pcie.gpus_per_switch=3"}, gpt),
            std::vector<std::string>{"cluster.pcie.gpus_per_switch"});
  EXPECT_EQ(idle_keys({"framework.memory.step_bytes=2"}, gpt), std::vector<std::string>{"framework.memory.step_bytes"});
  EXPECT_EQ(idle_keys({"framework.memory.step_bytes=16"}, gpt), std::vector<std::string>{});
}

/// Half of an odd number with a unit is a value as good as any.
/// The layout of activations is one of the ops, which cost as much in either under fp32.
TEST(KeysWithoutEffect, OtherOpsAtTheSameCostAre) {
  const std::string resnet =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {kind: resnet, global_batch: 256}\nframework: {name: pytorch}\n";
  EXPECT_EQ(idle_keys({"model.precision=fp32", "model.resnet.channels_last=false"}, resnet),
            std::vector<std::string>{"model.resnet.channels_last"});
  EXPECT_EQ(idle_keys({"model.precision=fp16", "model.resnet.channels_last=false"}, resnet),
            std::vector<std::string>{});
}

/// In 16 bits of either kind kernels cost as much, but not in 32.
TEST(KeysWithoutEffect, AChoiceIsHeededWhereAnotherOneWouldBe) {
  const std::string llm =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {kind: llm, global_batch: 16, precision: bf16, llm: {layers: 4, hidden: "
      "1024, heads: 16, sequence: 512}}\nframework: {name: megatron_core}\nparallel: {tensor: 8}\n";
  EXPECT_EQ(idle_keys({}, llm), std::vector<std::string>{});
}

/// A word that `automatic` comes to is none that does nothing, where all others would do something else.
TEST(KeysWithoutEffect, SayingWhatAutomaticComesToIsNoWish) {
  const std::string llm =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {kind: llm, global_batch: 16, precision: bf16, llm: {layers: 4, hidden: "
      "1024, heads: 16, sequence: 512}}\nframework: {name: megatron_core}\n";
  EXPECT_EQ(idle_keys({"parallel.shard=optimizer", "parallel.recompute=none", "parallel.overlap_gradients=true"}, llm),
            std::vector<std::string>{});
  // Of one replica nothing is split or reduced.
  EXPECT_EQ(idle_keys({"parallel.tensor=8", "parallel.shard=optimizer", "parallel.overlap_gradients=true"}, llm),
            (std::vector<std::string>{"parallel.shard", "parallel.overlap_gradients"}));
}

/// Inference has neither gradients nor an optimizer to split.
TEST(KeysWithoutEffect, ShardsOfWhatInferenceDoesNotHaveAre) {
  const std::string llm =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {kind: llm, global_batch: 16, mode: inference, llm: {layers: 4, "
      "hidden: 1024, heads: 16, sequence: 512}}\nframework: {name: megatron_core}\n";
  EXPECT_EQ(idle_keys({"parallel.shard=optimizer", "parallel.shard_group=4"}, llm),
            (std::vector<std::string>{"parallel.shard", "parallel.shard_group"}));
  EXPECT_EQ(idle_keys({"parallel.shard=gradients"}, llm), std::vector<std::string>{"parallel.shard"});
  EXPECT_EQ(idle_keys({"parallel.shard=weights", "parallel.shard_group=4"}, llm), std::vector<std::string>{});
}

/// With one replica there is nothing to split; the layout's words repeat the key all the same.
TEST(KeysWithoutEffect, WordsOfALayoutAreNoEffect) {
  const std::string gpt =
      "cluster: {system: dgx_a100_80gb, nodes: 1, gpus_per_node: 4}\nmodel: {name: megatron_gpt_7_5b, global_batch: 16, "
      "llm: {layers: 4}}\nframework: {name: megatron}\n";
  for (const char* set : {"parallel.shard=optimizer", "parallel.shard=gradients", "parallel.shard=weights"})
    EXPECT_EQ(idle_keys({set}, gpt), std::vector<std::string>{"parallel.shard"}) << set;
  EXPECT_EQ(idle_keys({"parallel.shard=weights", "parallel.tensor=2"}, gpt), std::vector<std::string>{});
}

/// Which rank has which of two equal tables changes no time and no size, but it is what was asked for.
TEST(KeysWithoutEffect, PlacesOfTablesAreAnEffect) {
  const std::string dlrm =
      "cluster: {system: dgx_a100_80gb, nodes: 1, gpus_per_node: 2}\nmodel: {kind: dlrm, global_batch: 8192, dlrm: "
      "{interaction: concat, embedding_dim: 64, tables: [{rows: 100000, count: 2}]}}\nframework: {name: torchrec}\n"
      "parallel: {sharding: table_wise, placement: [0, 1]}\n";
  for (const char* set : {"parallel.placement=[1, 0]", "parallel.placement=[0, 0]"})
    EXPECT_EQ(std::ranges::count(idle_keys({set}, dlrm), "parallel.placement"), 0) << set;
}

/// A copy of the input that the first kernel waits for anyway, and one more edge that says so.
TEST(KeysWithoutEffect, ADependencyThatOthersImplyIsNone) {
  const std::string gnmt =
      "cluster: {system: pcie_rtx4090, nodes: 1}\nmodel: {name: gnmt_v2, per_gpu_batch: 32, precision: fp16}\nframework: "
      "{name: pytorch_apex, input: {overlap: false}}\n";
  EXPECT_EQ(idle_keys({}, gnmt), std::vector<std::string>{"framework.input.overlap"});
}

TEST(KeysWithoutEffect, QuantitiesAreNotIntegers) {
  const std::string bert =
      "cluster: {system: gb200_nvl72, nodes: 8}\nmodel: {name: bert_large, per_gpu_batch: 4, precision: fp16, optimizer: "
      "adam}\nframework: {name: maxtext}\nparallel: {shard: optimizer}\n";
  EXPECT_EQ(idle_keys({"device.clock.locked=1714 MHz"}, bert), idle_keys({"device.clock.locked=1715 MHz"}, bert));
}

/// The width that follows from another key, said once more.
TEST(KeysWithoutEffect, WhatFollowsFromOtherKeysIsNoIdleWish) {
  const std::string text =
      "cluster: {system: dgx_a100_80gb, nodes: 1}\nmodel: {kind: llm, global_batch: 16, llm: {layers: 4, hidden: 1024, heads: "
      "16, vocabulary: 32000, sequence: 1024}}\nframework: {name: megatron}\n";
  EXPECT_EQ(idle_keys({"model.llm.ffn_hidden=4096", "model.llm.head_dim=64", "model.llm.kv_heads=16"}, text),
            std::vector<std::string>{});
}

/// Twice as many micro-steps as the batch has samples for is refused, which is no effect of the three.
TEST(KeysWithoutEffect, MicroStepsOfALanguageModelAre) {
  const std::string text =
      "cluster: {system: dgx_h100, nodes: 2}\nmodel: {name: llama3_8b, global_batch: 64}\nframework: {name: "
      "megatron_core}\n";
  for (const char* set : {"model.accumulation=2", "model.accumulation=3", "model.accumulation=4"})
    EXPECT_EQ(idle_keys({set}, text), std::vector<std::string>{"model.accumulation"}) << set;
  const std::string split =
      "cluster: {system: dgx_a100_80gb, nodes: 16}\nmodel: {name: megatron_gpt_7_5b}\nframework: {name: megatron}\n";
  for (const char* set : {"model.accumulation=2", "model.accumulation=3", "model.accumulation=4",
                          "model.accumulation=5", "model.accumulation=16"})
    EXPECT_EQ(idle_keys({set}, split), std::vector<std::string>{"model.accumulation"}) << set;
}

/// Keys of the steps of a program, which is a list.
TEST(KeysWithoutEffect, KeysInListsCountOneByOne) {
  const std::string text =
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {kind: program, global_batch: 16, program: {steps: [{compute: 1 "
      "ms, size: 10 MB, group: node}, {collective: barrier, size: 1 MB}, {collective: all_reduce, size: 1 MB, group: "
      "all}]}}\n";
  EXPECT_EQ(idle_keys({}, text), (std::vector<std::string>{"model.program.steps.0.size", "model.program.steps.0.group",
                                                           "model.program.steps.1.size"}));
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

constexpr const char* kSplit =
    "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: megatron_gpt_7_5b, global_batch: 64}\nframework: {name: "
    "megatron}\n";

std::vector<std::string> idle_sets(const std::vector<std::string>& sets) {
  const auto experiment = config::Variants::of_text(kSplit, "x.yaml");
  EXPECT_TRUE(experiment.ok()) << experiment.error().text();
  std::vector<std::string> out;
  for (const IdleArgument& idle : sets_without_effect({{*experiment, sets}}, sets)) out.push_back(idle.argument);
  return out;
}

/// What the same keys say one by one.
TEST(SetsWithoutEffect, KeysOfAMapCountOneByOne) {
  const std::vector<std::string> idle{"--set parallel.prefetch=4"};
  EXPECT_EQ(idle_sets({"parallel.tensor=2", "parallel.prefetch=4"}), idle);
  EXPECT_EQ(idle_sets({"parallel={tensor: 2, prefetch: 4}"}), idle);
  EXPECT_EQ(idle_sets({"parallel={tensor: 2}"}), std::vector<std::string>{});
  EXPECT_EQ(
      idle_sets(
          {"model={name: megatron_gpt_7_5b, rnn: {encoder_layers: 3}, dlrm: {bottom_mlp: [512, 64]}, global_batch: 32}"}),
      (std::vector<std::string>{"--set model.rnn.encoder_layers=3", "--set model.dlrm.bottom_mlp=[512, 64]"}));
}

/// A key of a map that a later --set gives is asked as that one's.
TEST(SetsWithoutEffect, AKeyOfAMapThatIsReplacedIsNotAsked) {
  EXPECT_EQ(idle_sets({"parallel={tensor: 2, prefetch: 4}", "parallel.prefetch=8"}),
            std::vector<std::string>{"--set parallel.prefetch=8"});
}

/// Of a swept key: a key of its maps is idle if it is so in all that have it.
TEST(MapKeysWithoutEffect, AreIdleInAllMaps) {
  const auto experiment = config::Variants::of_text(kSplit, "x.yaml");
  ASSERT_TRUE(experiment.ok()) << experiment.error().text();
  const auto idle = [&](const std::vector<std::string>& values) {
    std::vector<TriedMap> tried;
    for (const std::string& value : values) tried.push_back({{*experiment, {value}}, value});
    return map_keys_without_effect(tried);
  };
  EXPECT_EQ(idle({"parallel={tensor: 2, prefetch: 4}", "parallel={tensor: 4, prefetch: 4}"}),
            std::vector<std::string>{"parallel.prefetch"});
  EXPECT_EQ(idle({"parallel={tensor: 2, prefetch: 4}", "parallel={tensor: 4, prefetch: 4, shard: weights}"}),
            std::vector<std::string>{});
}

/// Whichever thread asks what.
TEST(SetsWithoutEffect, LinesAreTheSameForAnyNumberOfThreads) {
  const auto experiment = config::Variants::of_text(kSplit, "x.yaml");
  ASSERT_TRUE(experiment.ok()) << experiment.error().text();
  const std::vector<std::string> sets{"parallel.prefetch=4", "model.rnn.encoder_layers=3", "parallel.micro_batch=2",
                                      "model.resnet.classes=7"};
  std::vector<VariedExperiment> experiments;
  for (const char* tensor : {"parallel.tensor=1", "parallel.tensor=2", "parallel.tensor=3", "parallel.tensor=4"}) {
    experiments.push_back({*experiment, sets});  // some of them cannot be predicted
    experiments.back().sets.emplace_back(tensor);
  }
  const auto lines = [&](unsigned jobs) {
    std::string out;
    for (const IdleArgument& idle : sets_without_effect(experiments, sets, "", false, jobs)) out += idle.text() + "\n";
    return out;
  };
  const std::string one = lines(1);
  EXPECT_NE(one.find("--set parallel.prefetch=4: no effect on the 2 predictions tried\n--set model.rnn"),
            std::string::npos)
      << one;
  for (const unsigned jobs : {0u, 2u, 7u}) EXPECT_EQ(lines(jobs), one) << jobs;
}

/// Each of two keys that say the same hides that the other is gone.
TEST(KeysWithoutEffect, WhatIsNamedChangesNothingTogether) {
  const std::string gpt =
      "cluster: {system: dgx_a100_80gb, nodes: 2}\nmodel: {name: megatron_gpt_7_5b, global_batch: 64}\n"
      "parallel: {tensor: 8, sequence_parallel: true, shard: optimizer, recompute: full}\nframework: {name: megatron}\n";
  const std::vector<std::string> both{"framework.parallel.overlap_tensor=ring", "parallel.overlap_tensor=true"};
  EXPECT_EQ(idle_keys({both[0]}, gpt), std::vector<std::string>{});
  EXPECT_EQ(idle_keys({both[1]}, gpt), std::vector<std::string>{});
  EXPECT_EQ(idle_keys(both, gpt), std::vector<std::string>{"framework.parallel.overlap_tensor"});
  EXPECT_EQ(idle_keys({both[0], both[1], "parallel.prefetch=4"}, gpt),
            (std::vector<std::string>{"parallel.prefetch", "framework.parallel.overlap_tensor"}));

  const std::string folder = testing::TempDir() + "together";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file_atomically(folder + "/x.yaml", gpt).ok());
  const std::vector<IdleArgument> idle = sets_without_effect(folder + "/x.yaml", both);
  ASSERT_EQ(idle.size(), 1u);
  EXPECT_EQ(idle[0].argument, "--set framework.parallel.overlap_tensor=ring");
}

/// A report shows what limits next, and how far behind it is.
TEST(KeysWithoutEffect, WhatLimitsNextIsAFigureToo) {
  const std::string dlrm =
      "cluster: {system: dgx_a100_80gb, nodes: 4}\nmodel: {name: dlrm_mlperf, global_batch: 1024}\nframework: {name: "
      "torchrec}\n";
  EXPECT_EQ(idle_keys({"framework.gradients.separate_stream=false"}, dlrm), std::vector<std::string>{});
}

TEST(Describe, OneLine) {
  EXPECT_EQ(describe(std::vector<GivenKey>{}), "");
  EXPECT_EQ(describe(std::vector<GivenKey>{{"a.b", "x.yaml:1:2"}, {"c", "--set c"}}),
            "no effect on this prediction: a.b (x.yaml:1:2), c (--set)");
}

}  // namespace
}  // namespace distsim::study
