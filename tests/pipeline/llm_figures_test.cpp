// The cheap figures of language models are those of whole predictions, bit for bit, over random layouts of shipped models;
// and what is said of a layout before its work is written down holds of its prediction.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/workload/family.hpp"

namespace distsim::pipeline {
namespace {

using Choices = std::vector<std::string>;

const Choices kModels = {"llama3_8b",   "llama31_405b_l30", "mixtral_8x7b", "deepseek_v3_l4",
                         "deepseek_v2", "qwen3_30b_a3b",    "gpt_oss_20b",  "nemotron_h_56b",
                         "gpt3_175b",   "mpt_7b",           "bert_4b",      "t5_3b_nemo"};
const Choices kFrameworks = {
    "megatron_core", "megatron_lm",      "megatron_bridge",   "nemo",      "nemo_automodel",
    "mlperf_nemo",   "fsdp2_torchtitan", "fsdp1_llm_foundry", "fsdp1_fms", "megatron_deepspeed",
    "deepspeed_hf",  "mlperf_deepspeed", "internevo",         "libai",     "paxml",
    "t5x",           "maxtext",          "colossalai",        "mlperf_amd"};

/// Random experiments, each of them the same for its number.
class Layouts {
 public:
  explicit Layouts(std::uint64_t seed) : random_(seed) {}

  std::string next(const std::string& framework) {
    text_ = "framework: {name: " + framework + "}\ncluster: {";
    add("system", {"dgx_h100", "dgx_a100_80gb", "dgx_b200"});
    add("nodes", {"1", "2", "4"});
    text_ += "}\nmodel: {";
    add("name", kModels);
    add("global_batch", {"64", "96", "256"});
    add("memory_check", {"false"});
    add("precision", {"bf16", "bf16", "fp16", "fp8_current"});
    text_ += "}\nparallel: {";
    const bool pipelined = add("pipeline", {"1", "1", "2", "4"}) != "1";
    const std::string schedule =
        pipelined ? add("schedule", {"gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe"}) : "automatic";
    add("order", {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"});
    add("virtual_stages", {schedule == "interleaved" ? "2" : "1"});
    add("tensor", {"1", "2", "4", "8"});
    add("sequence_parallel", {"true", "false"});
    add("context", {"1", "1", "2"});
    add("expert", {"1", "1", "2", "4"});
    add("shard", {"automatic", "none", "optimizer", "gradients", "weights"});
    add("micro_batch", {"1", "2"});
    add("recompute", {"none", "full", "selective"});
    add("overlap_pipeline", {"automatic", "true", "false"});
    add("overlap_expert", {"automatic", "true"});
    return text_ + "}\n";
  }

 private:
  std::string add(const std::string& key, const Choices& choices) {
    const std::string& value = choices[static_cast<std::size_t>(random_.below(choices.size()))];
    text_ += (text_.ends_with('{') ? "" : ", ") + key + ": " + value;
    return value;
  }
  Random random_;
  std::string text_;
};

Result<config::Experiment> experiment_of_text(const std::string& text) {
  const auto parsed = config::parse_experiment_text(text, "", {});
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return config::resolve(*parsed);
}

void expect_equal(const report::Report& figures, const report::Report& whole) {
  EXPECT_EQ(figures.iteration, whole.iteration);
  EXPECT_EQ(figures.low, whole.low);
  EXPECT_EQ(figures.high, whole.high);
  EXPECT_EQ(figures.compute, whole.compute);
  EXPECT_EQ(figures.comm, whole.comm);
  EXPECT_EQ(figures.hidden_comm, whole.hidden_comm);
  EXPECT_EQ(figures.exposed_comm, whole.exposed_comm);
  EXPECT_EQ(figures.waiting, whole.waiting);
  EXPECT_EQ(figures.host_bound, whole.host_bound);
  EXPECT_EQ(figures.idle, whole.idle);
  EXPECT_EQ(figures.samples_per_second, whole.samples_per_second);
  EXPECT_EQ(figures.achieved_flops_per_gpu, whole.achieved_flops_per_gpu);
  EXPECT_EQ(figures.hardware_flops_per_gpu, whole.hardware_flops_per_gpu);
  EXPECT_EQ(figures.mfu, whole.mfu);
  EXPECT_EQ(report::text_of(figures.limits.limited_by), report::text_of(whole.limits.limited_by));
  EXPECT_EQ(figures.context.memory_per_rank, whole.context.memory_per_rank);
  EXPECT_EQ(figures.context.tokens_per_sample, whole.context.tokens_per_sample);
}

void expect_bounds(const LayoutBounds& bounds, const report::Report& whole) {
  EXPECT_EQ(bounds.memory.total(), std::ranges::max(whole.context.memory_per_rank));
  EXPECT_EQ(bounds.fits, bounds.memory.total() <= whole.context.memory_capacity);
  EXPECT_LE(bounds.least, whole.iteration);
  EXPECT_GT(bounds.least, whole.iteration * 0.01) << "a bound that says nothing";
}

TEST(LlmFigures, AreThoseOfThePrediction) {
  constexpr int kEach = 4;
  CostModelCache cache;
  Layouts layouts(20261122);
  int predicted = 0, refused = 0;
  for (int i = 0; i < kEach; ++i) {
    for (const std::string& framework : kFrameworks) {
      const std::string text = layouts.next(framework);
      SCOPED_TRACE(text);
      const auto e = experiment_of_text(text);
      if (!e) continue;  // a precision that the GPU does not have
      Passes passes;
      const auto whole = predict(*e, passes, cache, kPlayedMicroSteps, report::Detail::figures);
      const auto figures = predict_figures(*e, cache);
      const auto bounds = layout_bounds(*e);
      ASSERT_EQ(figures.ok(), whole.ok())
          << (whole.ok() ? figures : Result<report::Report>(whole.error())).error().text();
      if (!whole) {
        ++refused;
        EXPECT_EQ(figures.error().text(), whole.error().text());
        if (!bounds) {  // a GPU without 8 bits is found later
          EXPECT_EQ(bounds.error().text(), whole.error().text());
        }
        continue;
      }
      ASSERT_TRUE(bounds.ok()) << bounds.error().text();
      ++predicted;
      expect_equal(*figures, whole->report);
      for (const report::OpKindTime& row : whole->report.ops)
        EXPECT_NE(row.kind, "absent") << "a mark that only orders";
      const auto without_transfers = predict_figures(*e, cache, report::Transfers::left_out);
      ASSERT_TRUE(without_transfers.ok());
      EXPECT_EQ(without_transfers->iteration, figures->iteration);
      EXPECT_EQ(without_transfers->exposed_comm, figures->exposed_comm);
      EXPECT_EQ(without_transfers->waiting, figures->waiting);
      expect_bounds(*bounds, whole->report);
    }
  }
  EXPECT_GE(predicted, 30);
  EXPECT_GE(refused, 5);
}

TEST(LlmFigures, WhatDoesNotFitIsRefusedAsThePredictionIs) {
  const auto e = experiment_of_text(
      "model: {name: llama31_405b, global_batch: 128}\ncluster: {system: dgx_h100, nodes: 8}\n"
      "framework: {name: megatron_core}\nparallel: {tensor: 8, pipeline: 8, micro_batch: 1}\n");
  ASSERT_TRUE(e.ok()) << e.error().text();
  CostModelCache cache;
  Passes passes;
  const auto whole = predict(*e, passes, cache), figures = Result<Prediction>(predict_figures(*e, cache).error());
  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(figures.error().what, whole.error().what);
  const auto bounds = layout_bounds(*e);
  ASSERT_TRUE(bounds.ok()) << bounds.error().text();
  EXPECT_FALSE(bounds->fits);
}

/// 50257 words on 4 GPUs: the largest part has 12565, as of 50260, and the others wait for it.
TEST(LlmFigures, GpusWaitForTheLargestPartOfAVocabulary) {
  CostModelCache cache;
  const auto figures = [&](int words) {
    const auto e = experiment_of_text(
        "cluster: {system: dgx_a100_80gb}\nmodel: {name: gpt2_large, global_batch: 16, llm: {"
        "vocabulary: " +
        std::to_string(words) + "}}\nframework: {name: megatron_lm}\nparallel: {tensor: 4, data: 2}\n");
    EXPECT_TRUE(e.ok()) << e.error().text();
    auto out = predict_figures(*e, cache);
    EXPECT_TRUE(out.ok()) << out.error().text();
    return std::move(out).value();
  };
  const auto below = figures(50256), odd = figures(50257), above = figures(50260);
  EXPECT_EQ(odd.iteration, above.iteration);
  EXPECT_EQ(odd.context.memory_per_rank, above.context.memory_per_rank);
  EXPECT_LE(below.iteration, odd.iteration);
  EXPECT_LT(below.context.memory_per_rank.front(), odd.context.memory_per_rank.front());
}

double tokens_of_model(const std::string& model, const std::string& framework = "megatron") {
  const auto e = experiment_of_text("cluster: {system: dgx_a100_80gb}\nmodel: {" + model +
                                    ", per_gpu_batch: 2, memory_check: false}\nframework: {name: " + framework + "}\n");
  EXPECT_TRUE(e.ok()) << (e ? "" : e.error().text());
  return e ? static_cast<double>(e->model.family->tokens_per_sample(e->model)) : 0;
}

/// Positions of both sides where there are two; padding counts, whoever leaves it out.
TEST(LlmFigures, TokensOfASampleAreItsPositions) {
  EXPECT_EQ(tokens_of_model("name: llama3_8b"), 8192);
  EXPECT_EQ(tokens_of_model("name: t5_v11_small"), 512 + 114);
  EXPECT_EQ(tokens_of_model("name: t5_v11_small, llm: {decoder_sequence: 2048}"), 512 + 2048);
  EXPECT_EQ(tokens_of_model("name: t5_v11_small, llm: {decoder_sequence: 0}"), 2 * 512);
  EXPECT_EQ(tokens_of_model("name: gnmt_v2, rnn: {source_length: 30, target_length: 40}", "pytorch"), 70);
  EXPECT_EQ(tokens_of_model("name: bert_large_seq512", "pytorch"), 512);
  EXPECT_EQ(tokens_of_model("name: bert_large_seq512, llm: {mean_tokens: 100}", "pytorch"), 512);
}

}  // namespace
}  // namespace distsim::pipeline
