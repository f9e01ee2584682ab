// Megatron-LM's scaling study against our predictions: rows of Narayanan et al. 2021 (arXiv 2104.04473), table 1,
// measured on A100s of 80 GB with eight adapters of 200 Gb/s a node. The rate per GPU counts the operations of their
// equation 3, recomputed forward passes included, from which the time of an iteration follows. Nothing is fitted to
// these rows; their micro-batch and schedule are assumptions of the model files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "base/file.hpp"
#include "sim/pipeline/pipeline.hpp"
#include "sim/workload/llm/llm_spec.hpp"
#include "test_paths.hpp"

namespace distsim::pipeline {
namespace {

struct Row {
  const char* model;
  int nodes;
  double teraflops;  ///< per GPU, as published
};

/// 96 B s l h^2 (1 + s / 6h + V / 16lh)
double operations(const config::Experiment& e) {
  const workload::LlmSpec& m = e.model.as<workload::LlmSpec>();
  const auto s = double(m.sequence), l = double(m.layers), h = double(m.hidden), v = double(m.vocabulary);
  return 96 * double(e.model.global_batch) * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}

/// As the table of docs/llm.md has them.
std::string cells(double measured, double predicted) {
  char text[80];
  std::snprintf(text, sizeof text, "| %.2f s | %.2f s | %+.1f %% |", measured, predicted,
                100 * (predicted / measured - 1));
  return text;
}

TEST(PublishedPipelines, IterationsOfTheScalingStudy) {
  const std::string table = read_file(test::root() + "/docs/llm.md", 1 << 20).value();
  std::printf("%-20s %6s %10s %10s %7s\n", "model", "GPUs", "measured", "predicted", "error");
  for (const Row& row : {Row{"megatron_gpt_7_5b", 16, 142},
                         {"megatron_gpt_18b", 32, 135},
                         {"megatron_gpt_39b", 64, 138},
                         {"megatron_gpt_76b", 128, 140},
                         {"megatron_gpt_145b", 192, 148}}) {
    const std::vector<std::string> sets = {std::string("model.name=") + row.model,
                                           "cluster.nodes=" + std::to_string(row.nodes)};
    const auto experiment = config::load_experiment(test::config("megatron_gpt_145b.yaml"), sets);
    ASSERT_TRUE(experiment.ok()) << experiment.error().text();
    Passes passes;
    const auto predicted = predict(*experiment, passes);
    ASSERT_TRUE(predicted.ok()) << predicted.error().text();
    const double measured = operations(*experiment) / (row.nodes * 8 * row.teraflops * 1e12),
                 ours = predicted->report.iteration.seconds();
    std::printf("%-20s %6d %8.2f s %8.2f s %+6.1f%%\n", row.model, row.nodes * 8, measured, ours,
                100 * (ours / measured - 1));
    EXPECT_LT(std::abs(ours / measured - 1), 0.15) << row.model;
    EXPECT_NE(table.find(cells(measured, ours)), std::string::npos)
        << row.model << " in docs/llm.md: expected " << cells(measured, ours);
  }
}

}  // namespace
}  // namespace distsim::pipeline
