// Energy, and batches of nothing.

#include <filesystem>
#include <fstream>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
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

TEST(Energy, IsInTheTables) {
  const auto e = parse_experiment(
      "gpus: [{name: a, idle_power: 10 W, busy_power: 100 W}]\nmodels: [{name: m, layer_times: [1 ms]}]\n"
      "load: {kind: closed, requests: 100}\npolicies: [fifo]\nrun: {warm_up: 0}\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const Comparison c = compare_policies(*e, 1, [] {});
  EXPECT_NE(comparison_text(c).find("fifo: 10 J, 0.1 J per request"), std::string::npos) << comparison_text(c);
  EXPECT_NE(comparison_csv(c).find(",energy_j\n"), std::string::npos);
  EXPECT_NE(comparison_json(c).find("\"energy_j\": "), std::string::npos);
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
