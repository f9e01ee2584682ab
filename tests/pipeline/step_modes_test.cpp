// model.mode: what a step without an optimizer, or without a backward pass, consists of; and model.correction.
#include <gtest/gtest.h>

#include <map>

#include "sim/pipeline/correction/graph_correction.hpp"
#include "sim/pipeline/pipeline.hpp"

namespace distsim::pipeline {
namespace {

using Sets = std::vector<std::string>;

std::string experiment(const std::string& model, const std::string& more = "", const std::string& parallel = "{}",
                       const std::string& device = "a100_sxm4_80gb", int gpus = 1) {
  return "cluster: {device: " + device + ", gpus_per_node: " + std::to_string(gpus) +
         "}\nframework: {name: pytorch}\nmodel: {name: " + model + ", memory_check: false" + more +
         "}\nparallel: " + parallel + "\n";
}

Result<Prediction> predicted(const std::string& text) {
  TRY_ASSIGN(const ConfigNode parsed, parse_yaml(text, "test.yaml"));
  TRY_ASSIGN(const config::Experiment e, config::resolve(parsed));
  Passes passes;
  return predict(e, passes);
}

double seconds(const std::string& text) { return predicted(text).value().report.iteration.seconds(); }

std::map<graph::Phase, int> phases(const Prediction& p) {
  std::map<graph::Phase, int> out;
  for (const graph::Task& task : p.costed->graph.tasks) ++out[task.phase];
  return out;
}

TEST(StepMode, ModesAreNested) {
  for (const std::string model : {"resnet50_v1_5", "bert_large", "gpt2_large", "opt_13", "switch4", "lstm_ptb_large"}) {
    const Prediction train = predicted(experiment(model)).value();
    const Prediction both = predicted(experiment(model, ", mode: forward_backward")).value();
    const Prediction infers = predicted(experiment(model, ", mode: inference")).value();
    EXPECT_GT(phases(train)[graph::Phase::optimizer], 0) << model;
    EXPECT_EQ(phases(both)[graph::Phase::optimizer], 0) << model;
    EXPECT_EQ(phases(both)[graph::Phase::forward], phases(train)[graph::Phase::forward]) << model;
    EXPECT_GT(phases(both)[graph::Phase::backward], 0) << model;
    EXPECT_EQ(phases(infers)[graph::Phase::backward] + phases(infers)[graph::Phase::optimizer], 0) << model;
    EXPECT_LE(phases(infers)[graph::Phase::forward], phases(both)[graph::Phase::forward]) << model;
    EXPECT_LT(infers.report.iteration, both.report.iteration) << model;
    const auto memory = [](const Prediction& p) { return p.report.context.memory_per_rank.front(); };
    EXPECT_LT(memory(infers), memory(both)) << model;
    EXPECT_LE(memory(both), memory(train)) << model;  // plain SGD has no state
    EXPECT_NEAR(3 * infers.report.context.model_flops, both.report.context.model_flops,
                model == "bert_large" ? 0.3 * both.report.context.model_flops : 1e-6 * both.report.context.model_flops)
        << model;  // of bert_large the head over all words is trained only
  }
}

/// Split over GPUs, in stages and not, a forward pass stays one.
TEST(StepMode, LanguageModelsInferWhereTheyAreSplit) {
  for (const std::string parallel :
       {"{tensor: 4, micro_batch: 4}", "{pipeline: 4, micro_batch: 1, schedule: gpipe}",
        "{pipeline: 4, micro_batch: 1, schedule: 1f1b}", "{data: 4, shard: weights}", "{data: 4, shard: optimizer}"}) {
    const auto ask = [&](const std::string& mode) {
      return predicted(experiment("gpt2_large", ", global_batch: 8, mode: " + mode, parallel, "h100_sxm5_80gb", 4));
    };
    const Prediction infers = ask("inference").value(), both = ask("forward_backward").value(),
                     train = ask("train").value();
    EXPECT_EQ(phases(infers)[graph::Phase::backward] + phases(infers)[graph::Phase::gradient_sync], 0) << parallel;
    EXPECT_EQ(phases(both)[graph::Phase::optimizer], 0) << parallel;
    EXPECT_LT(2 * infers.report.iteration.seconds(), both.report.iteration.seconds()) << parallel;
    // Adding to shards is a kernel a block, which a host-bound step waits for; an optimizer's are few.
    const double most = parallel.find("shard: weights") == parallel.npos ? 1 : 1.005;
    EXPECT_LT(both.report.iteration.seconds(), most * train.report.iteration.seconds()) << parallel;
  }
}

/// What an iteration exchanges last holds back the next one: where nothing computes meanwhile all of it is exposed, and slower
/// links make a step longer.
TEST(StepMode, ExchangesAreExposedWithoutAnOptimizer) {
  const auto ask = [](const std::string& mode, const std::string& links, const std::string& parallel) {
    return predicted("cluster: {system: dgx_a100_80gb, nodes: 2" + links +
                     "}\nframework: {name: megatron_core}\nmodel: {name: gpt2_large, global_batch: 64, mode: " + mode +
                     "}\nparallel: " + parallel + "\n")
        .value()
        .report;
  };
  for (const auto& [mode, parallel] :
       {std::pair<std::string, std::string>("inference", "{tensor: 4, overlap_tensor: false}"),
        {"inference", "{tensor: 2, context: 2, context_exchange: ulysses, shard: none}"},
        {"inference", "{tensor: 4, pipeline: 2, schedule: 1f1b}"},
        {"forward_backward", "{overlap_gradients: false, shard: none}"},
        {"forward_backward", "{tensor: 2, overlap_gradients: false, overlap_tensor: false}"}}) {
    const report::Report fast = ask(mode, "", parallel);
    const report::Report slow =
        ask(mode, ", gpu_links: {bandwidth_per_link: 3 GB/s}, nic: {bandwidth: 3 GB/s}", parallel);
    EXPECT_GT(slow.iteration.seconds(), 1.05 * fast.iteration.seconds()) << mode << " " << parallel;
    for (const report::Report& r : {fast, slow})
      EXPECT_LT(r.hidden_comm.seconds(), 0.05 * r.comm.seconds()) << mode << " " << parallel;
  }
}

/// Also where a framework does nothing with the gradients once they are summed.
TEST(StepMode, SumsOfGradientsAreExposedWhateverTheFramework) {
  for (const std::string framework : {"hugectr", "pytorch", "mxnet_horovod"}) {
    const auto ask = [&](const std::string& nic) {
      return predicted("cluster: {system: dgx_a100_80gb, nodes: 2, nic: {bandwidth: " + nic + "}}\nframework: {name: " +
                       framework + "}\nmodel: {name: resnet50_v1_5, mode: forward_backward, per_gpu_batch: 32}\n")
          .value()
          .report.iteration.seconds();
    };
    EXPECT_GT(ask("1 GB/s"), 1.05 * ask("25 GB/s")) << framework;
  }
}

TEST(StepMode, WhatHasNoOtherModeRefusesIt) {
  const auto error = [](const std::string& text) { return predicted(text).error().text(); };
  EXPECT_NE(error(experiment("dlrm_mlperf", ", mode: inference", "{}", "a100_sxm4_80gb", 8))
                .find("model.mode: found inference, expected train"),
            std::string::npos);
  EXPECT_NE(error(experiment("gpt2_large", ", global_batch: 8, mode: inference", "{pipeline: 4, schedule: zero-bubble}",
                             "h100_sxm5_80gb", 4))
                .find("parallel.schedule"),
            std::string::npos);
  EXPECT_NE(error(experiment("gpt2_large", ", mode: inferense")).find("did you mean 'inference'"), std::string::npos);
  EXPECT_NE(error(experiment("gpt2_large", ", llm: {model_type: opt, positions: rope}")).find("for model_type: opt"),
            std::string::npos);
}

/// A correction of all kernels: parts still add up, and it is named.
TEST(GraphCorrection, PartsAddUpAndItIsNamed) {
  const std::string text = ", mode: forward_backward, precision: fp32, global_batch: 2";
  const Prediction off = predicted(experiment("gpt2_large", text)).value();
  const Prediction on = predicted(experiment("gpt2_large", text + ", correction: graph")).value();
  const report::Report& r = on.report;
  EXPECT_NEAR((r.compute + r.exposed_comm + r.waiting + r.host_bound + r.idle).seconds(), r.iteration.seconds(),
              1e-9 * r.iteration.seconds());
  bool named = false;
  for (const graph::Assumption& a : r.context.assumptions)
    named = named || a.text.find("learned graph") != std::string::npos;
  EXPECT_TRUE(named);
  const double ratio = r.iteration.seconds() / off.report.iteration.seconds();
  EXPECT_LE(ratio, opmodels::GraphNetwork::kMostRatio * 1.001);
  EXPECT_GE(ratio, 0.999 / opmodels::GraphNetwork::kMostRatio);
}

/// What-ifs change times and not what is known of a GPU.
TEST(GraphCorrection, BetterHardwareIsNeverSlower) {
  const std::string text =
      experiment("bert_large", ", mode: forward_backward, precision: fp32, global_batch: 4, correction: graph");
  const double before = seconds(text);
  for (const double better : {1.01, 1.18, 1.6}) {
    for (const auto& [key, value, unit] :
         {std::tuple("hbm.bandwidth", 2039.0, "GB/s"), std::tuple("peak.fp32", 19.5, "TFLOP/s"),
          std::tuple("l2.bandwidth", 2.92, "TB/s"), std::tuple("peak.vector_fp32", 19.5, "TFLOP/s")}) {
      const std::string name(key);
      const std::string section = name.substr(0, name.find('.')), part = name.substr(name.find('.') + 1);
      const std::string set =
          "device: {" + section + ": {" + part + ": " + std::to_string(better * value) + " " + unit + "}}\n";
      EXPECT_LE(seconds(text + set), 1.001 * before) << key << " x" << better;
    }
  }
}

}  // namespace
}  // namespace distsim::pipeline
