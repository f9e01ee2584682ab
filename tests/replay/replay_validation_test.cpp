// Replay against the measured steps of public traces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "base/json/json.hpp"
#include "sim/replay/results/held_out.hpp"
#include "sim/replay/whatif/kernel_edits.hpp"
#include "test_data.hpp"
#include "traces/trace_reader.hpp"

namespace distsim::replay {
namespace {

struct Row {
  std::string file;
  StepMedians replay, held_out;
  std::vector<double> errors, held_out_errors;
  bool profiler_steps = false;
};

std::vector<double> absolute_errors(const std::vector<StepResult>& results) {
  std::vector<double> out;
  for (const StepResult& r : results) {
    if (r.measured > 0) out.push_back(std::abs(r.error()));
  }
  return out;
}

Row replay(const std::string& name, const std::vector<std::string>& files) {
  Row row{name, {}, {}, {}, {}};
  const auto job = traces::read_traces(files);
  EXPECT_TRUE(job.ok()) << name << ": " << (job.ok() ? "" : job.error().text());
  if (!job) return row;
  const auto graph = build_replay(*job);
  EXPECT_TRUE(graph.ok()) << name << ": " << (graph.ok() ? "" : graph.error().text());
  if (!graph) return row;
  const auto times = play(*graph, measured_costs(*graph));
  EXPECT_TRUE(times.ok()) << name << ": " << (times.ok() ? "" : times.error().text());
  if (!times) return row;
  const auto results = step_results(*graph, *times);
  const auto held = predict_held_out_steps(*graph);
  row.replay = medians(results);
  row.errors = absolute_errors(results);
  row.held_out_errors = absolute_errors(*held);
  if (!held->empty()) row.held_out = medians(*held);
  row.profiler_steps = !results.empty() && results.front().name.starts_with("ProfilerStep");
  return row;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

using Json = nlohmann::json;

Json manifest(const std::string& root) {
  std::ifstream in(root + "/manifest.json");
  return Json::parse(in);
}

/// Files of the manifest that hold complete steps: Kineto traces with a step time; the ranks of one job together.
std::vector<std::pair<std::string, std::vector<std::string>>> cases(const std::string& root) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  std::vector<std::string> megatron;
  for (const Json& entry : manifest(root)) {
    const std::string file = entry.at("path");
    if (entry.at("kind") != "kineto" || entry.value("note", "").find("NOT complete") != std::string::npos) continue;
    if (file.starts_with("megatron"))
      megatron.push_back(root + "/" + file);
    else
      out.push_back({file, {root + "/" + file}});
  }
  if (!megatron.empty()) out.push_back({"megatron_gpt_tp8_a100, 8 ranks", megatron});
  return out;
}

TEST(ReplayValidation, StepsOfThePublicTraces) {
  const std::string root = test::data("traces");
  std::vector<double> errors, held_out, held_out_profiler;
  std::printf("%-56s %12s %12s %8s %8s  %s\n", "trace", "measured ms", "replayed ms", "median", "worst",
              "each step from the others: median, worst");
  for (const auto& [name, files] : cases(root)) {
    if (name.find("mtia_inference") != std::string::npos)
      continue;  // no device records and no steps: refused, see RefusesWhatHoldsNothing
    const Row row = replay(name, files);
    if (row.replay.measured <= 0) continue;
    std::printf("%-56s %12.3f %12.3f %7.2f%% %7.2f%%", name.c_str(), row.replay.measured * 1e-9,
                row.replay.replayed * 1e-9, 100 * row.replay.median_error, 100 * row.replay.worst_error);
    if (!row.held_out_errors.empty())
      std::printf("  %.2f%%, %.2f%% of %zu", 100 * row.held_out.median_error, 100 * row.held_out.worst_error,
                  row.held_out_errors.size());
    std::printf("\n");
    errors.insert(errors.end(), row.errors.begin(), row.errors.end());
    held_out.insert(held_out.end(), row.held_out_errors.begin(), row.held_out_errors.end());
    if (row.profiler_steps)
      held_out_profiler.insert(held_out_profiler.end(), row.held_out_errors.begin(), row.held_out_errors.end());
  }
  std::printf("replay: %zu steps, median %.3f %%, p90 %.3f %%, worst %.3f %%\n", errors.size(),
              100 * quantile(errors, 0.5), 100 * quantile(errors, 0.9), 100 * quantile(errors, 1));
  const auto line = [](const char* what, const std::vector<double>& e) {
    std::printf("%s: %zu steps, median %.2f %%, p90 %.2f %%, worst %.2f %%\n", what, e.size(), 100 * quantile(e, 0.5),
                100 * quantile(e, 0.9), 100 * quantile(e, 1));
  };
  line("each step from the others, where a profiler marked steps", held_out_profiler);
  line("each step from the others, all (Optimizer.step intervals of two traces vary fivefold)", held_out);
  ASSERT_GT(errors.size(), test::is_sample("traces") ? 18u : 40u);
  EXPECT_LT(quantile(errors, 0.5), 0.0001);
  EXPECT_LT(quantile(errors, 1), 0.001);
  EXPECT_LT(quantile(held_out_profiler, 0.5), 0.04);
}

/// Whatever is fused, no work ends later, and the step takes no longer.
TEST(ReplayValidation, FusingMakesNoTraceSlower) {
  const std::string root = test::data("traces");
  std::uint64_t fused = 0;
  for (const auto& [name, files] : cases(root)) {
    if (name.find("mtia_inference") != std::string::npos) continue;
    const auto job = traces::read_traces(files);
    ASSERT_TRUE(job.ok()) << name;
    const auto graph = build_replay(*job);
    ASSERT_TRUE(graph.ok()) << name;
    const auto before = play(*graph, measured_costs(*graph));
    ASSERT_TRUE(before.ok()) << name;
    for (const std::string pattern : {".", "gemm", "elementwise", "reduce", "conv|dgrad|wgrad", "triton", "[aeiou]"}) {
      ReplayGraph edited = *graph;
      ReplayCosts costs = measured_costs(edited);
      const auto edits = edit_kernels({}, {pattern}, edited, costs);
      if (!edits) continue;  // no such kernel
      fused += edits->fused;
      const auto after = play(edited, costs);
      ASSERT_TRUE(after.ok()) << name << ", " << pattern;
      EXPECT_LE(after->makespan, before->makespan) << name << ", " << pattern;
      std::size_t later = 0;
      const ReplayCosts measured = measured_costs(*graph);
      for (std::size_t n = 0; n < costs.size(); ++n)  // parts of a fused kernel have another cost, or none
        later += costs[n] > 0 && costs[n] == measured[n] && after->end[n] > before->end[n] ? 1 : 0;
      EXPECT_EQ(later, 0u) << name << ", " << pattern;
      EXPECT_LE(medians(step_results(edited, *after)).replayed, medians(step_results(*graph, *before)).replayed)
          << name << ", " << pattern;
    }
  }
  EXPECT_GT(fused, 1000u);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// GPU start to start as the manifest's own script found it.
TEST(ReplayValidation, MeasuredTimesAreThoseOfTheManifest) {
  const std::string root = test::data("traces");
  const std::set<std::string> checked{
      "hta/recsys_a100_rank3of8.json.gz",          "hta/v100_rank1of2_many_nccl.json.gz",
      "hta/resnet_v100_ns_rank0of1.json.gz",       "hta/resnet_a100_ncclmeta_rank0of2.json.gz",
      "kineto_tb/resnet50_nw0_bare_array.json.gz", "tracelens/mi300_resnet_ddp_rank0of8.json.gz"};
  std::size_t files = 0;
  for (const Json& entry : manifest(root)) {
    const std::string file = entry.at("path");
    if (!checked.contains(file)) continue;
    const double expected = median(entry.at("stats").at("gpu_start_to_start_ms"));
    EXPECT_NEAR(replay(file, {root + "/" + file}).replay.measured * 1e-9, expected, 0.006) << file;
    ++files;
  }
  EXPECT_EQ(files, test::is_sample("traces") ? 4u : checked.size());
}

}  // namespace
}  // namespace distsim::replay
