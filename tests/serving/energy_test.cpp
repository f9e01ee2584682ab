// Energy, and batches of nothing.

#include <filesystem>
#include <fstream>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/fingerprint.hpp"
#include "sim/serving/spec/times_table.hpp"

namespace distsim::serving {
namespace {

Load closed_load(std::uint64_t requests) {
  Load load;
  load.kind = LoadKind::closed;
  load.requests = requests;
  return load;
}

/// Idle power for the makespan, and what busy power is above it for the time that is executed.
TEST(Energy, OfTimesThatAreGiven) {
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {test::kMs, test::kMs}}});
  for (Gpu& gpu : s.gpus) gpu.idle_watts = 10, gpu.busy_watts = 100;
  const RunResult r = test::run(s, "fifo", closed_load(50));
  ASSERT_EQ(r.joules.size(), 2u);
  EXPECT_NEAR(r.joules[0] + r.joules[1], 2 * 10 * 0.1 + 90 * 0.1, 1e-9);
  // Layer by layer it is the same.
  const RunResult by_layer = test::run(s, "layer_preemptive", closed_load(50));
  EXPECT_NEAR(by_layer.joules[0] + by_layer.joules[1], r.joules[0] + r.joules[1], 1e-9);
  for (Gpu& gpu : s.gpus) gpu.idle_watts = gpu.busy_watts = 0;
  EXPECT_EQ(test::run(s, "fifo", closed_load(50)).joules[0], 0);
}

/// What overlaps without loss takes no longer, and the GPU draws its busy power once.
TEST(Energy, OfWorkAtTheSameTimeIsThatOfOneGpu) {
  Scenario s = test::gpus_of_one_kind(1);
  s.gpus[0].execution = Execution::shared;
  s.gpus[0].slots = 2;
  s.gpus[0].idle_watts = 10;
  s.gpus[0].busy_watts = 100;
  test::set_models(s, {{"m", {10 * test::kMs}}, {"n", {10 * test::kMs}}});
  s.models[0].demand = {1, 0, 0};
  s.models[1].demand = {0, 1, 0};
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{0, 0}, {0, 1}};
  const RunResult r = test::run(s, "fifo", load);
  EXPECT_EQ(r.makespan_ps, 10 * test::kMs);
  EXPECT_NEAR(r.joules[0], 100 * 0.01, 1e-9);
  s.models[1].demand = {1, 0, 0};  // now they compete, and take twice as long
  EXPECT_NEAR(test::run(s, "fifo", load).joules[0], 100 * 0.02, 1e-9);
}

TEST(Energy, IsInTheTables) {
  const auto e = parse_experiment(
      "gpus: [{name: a, idle_power: 10 W, busy_power: 100 W}]\nmodels: [{name: m, layer_times: [1 ms]}]\n"
      "load: {kind: closed, requests: 100}\npolicies: [fifo]\nrun: {warm_up: 0}\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const Comparison c = compare_policies(*e, 1, [] {});
  EXPECT_NE(comparison_text(c).find("fifo: 10 J, 0.1 J per request"), std::string::npos) << comparison_text(c);
  EXPECT_NE(comparison_csv(c).find(",energy_j,"), std::string::npos);
  EXPECT_NE(comparison_json(c).find("\"energy_j\": "), std::string::npos);
}

/// A group of GPUs draws what its GPUs draw.
TEST(Energy, APipelineOfFourGpusIdlesAsFour) {
  const auto joules = [](const std::string& gpus) {
    const auto e = parse_experiment("gpus: [{name: a, idle_power: 50 W, busy_power: 50 W, " + gpus +
                                        "}]\nmodels: [{name: m, layer_times: [1 ms, 1 ms, 1 ms, 1 ms]}]\n"
                                        "load: {kind: closed, requests: 100}\npolicies: [fifo]\nrun: {warm_up: 0}\n",
                                    "x.yaml", {});
    EXPECT_TRUE(e.ok()) << e.error().text();
    const RunResult r = compare_policies(*e, 1, [] {}).points.at(0).result;
    double sum = 0;
    for (const double j : r.joules) sum += j;
    return sum / (static_cast<double>(r.makespan_ps) * 1e-12);
  };
  EXPECT_NEAR(joules("count: 4"), 200, 1e-9);
  EXPECT_NEAR(joules("execution: pipeline, stages: 4"), 200, 1e-9);
}

/// A setting that changes nothing is named; one that changes anything is not.
TEST(Settings, WithoutEffectAreNamed) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "settings.yaml").string();
  std::ofstream(path) << "gpus: [{name: a, count: 2}]\nmodels: [{name: m, layer_times: [1 ms, 1 ms], max_batch: 4}]\n"
                         "load: {rate_per_s: 100, requests: 100}\npolicies: [fifo]\n";
  const std::vector<std::string> idle{"batching.size=3", "load.cv=2", "models.0.table_name=x", "gpus.0.count=2",
                                      "run.drop_late=false"};
  const std::vector<std::string> telling{"models.0.batch_cost=0.5", "load.seed=2",
                                         "gpus.0.speed=2",          "run.max_wait=1 s",
                                         "models.0.sm_demand=0.5",  "gpus.0.host_bandwidth=1 GB/s",
                                         "models.0.deadline=1 s"};
  std::vector<std::string> all = idle;
  all.insert(all.end(), telling.begin(), telling.end());
  EXPECT_EQ(sets_without_effect(path, all), idle);
  EXPECT_EQ(sets_without_effect(path, {"batching.size=3", "policies=[dynamic_batching]"}), std::vector<std::string>{});
}

TEST(Batches, OfNothingAreRefused) {
  const auto refusal = [](const std::string& set) {
    const auto e = parse_experiment(
        "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms]}]\n"
        "load: {rate_per_s: 1, requests: 1}\npolicies: [fifo]\n",
        "x.yaml", {set});
    return e.ok() ? "" : e.error().text();
  };
  EXPECT_NE(refusal("batching.size=0").find("batching.size: found '0', expected"), std::string::npos);
  EXPECT_NE(refusal("models.0.max_batch=0").find("models[0].max_batch: found '0', expected"), std::string::npos);
  EXPECT_NE(refusal("load.samples=0").find("load.samples: found '0', expected"), std::string::npos);
  EXPECT_NE(refusal("gpus.0.stages=2").find("gpus[0].stages: found 2, expected them with execution: pipeline only"),
            std::string::npos);
  EXPECT_NE(refusal("load.per_model=1").find("load.per_model"), std::string::npos);
  EXPECT_NE(refusal("models.0.layer_sm_demands=[1,1]").find("layer_sm_demands: found 2 values"), std::string::npos);
  const std::string path = (std::filesystem::path(testing::TempDir()) / "batch_0.csv").string();
  std::ofstream(path) << "model,gpu,batch,layer,time_us\nm,a,0,x,1\n";
  TimesTable table;
  const auto read = table.read(path);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().text().find("batch_0.csv:2: batch: found '0', expected an integer from 1 to 4096"),
            std::string::npos);
}

}  // namespace
}  // namespace distsim::serving
