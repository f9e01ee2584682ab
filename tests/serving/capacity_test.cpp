// The most that GPUs can do: closed forms, and that no policy does more.

#include <cmath>

#include "base/random.hpp"
#include "scenarios.hpp"
#include "sim/serving/emulator/capacity.hpp"

namespace distsim::serving {
namespace {

using test::kMs;

Capacity of(const Scenario& s, const std::string& policy = "fifo", const PolicyOptions& options = {},
            std::vector<double> mix = {}) {
  if (mix.empty()) mix.assign(s.models.size(), 1);
  return capacity_of(s, test::policy(policy), options, mix);
}

TEST(Capacity, OfEqualGpusIsTheirNumberOverTheMeanTime) {
  Scenario s = test::gpus_of_one_kind(3);
  test::set_models(s, {{"m", {4 * kMs}}, {"n", {kMs, kMs}}});
  EXPECT_NEAR(of(s).rate_per_s, 1000, 1e-9);
  EXPECT_NEAR(of(s, "fifo", {}, {3, 1}).rate_per_s, 3 / 3.5e-3, 1e-9);
  EXPECT_NEAR(of(s).work_s[0], 4e-3 / 3, 1e-12);
  s.models[1].refused = true;  // takes nothing
  EXPECT_NEAR(of(s).rate_per_s, 1500, 1e-9);
}

/// Each model where it is faster, and the rest shared out: 1 ms and 4 ms against 4 ms and 1 ms are 2,000 a second.
TEST(Capacity, OfDifferentGpusGivesEachModelItsOwn) {
  Scenario s = test::gpus_of_one_kind(2);
  s.kinds = {"a", "b"};
  s.gpus[1].kind = 1;
  test::set_models(s, {{"m", {kMs}}, {"n", {4 * kMs}}});
  s.set_times(1, 0, {0, 4 * kMs});
  s.set_times(1, 1, {0, kMs});
  EXPECT_NEAR(of(s).rate_per_s, 2000, 0.05 * 2000);
  EXPECT_GE(of(s).rate_per_s, 2000 * (1 - 1e-9));
}

TEST(Capacity, IsBoundByTheGpusThatAModelIsPlacedOn) {
  Scenario s = test::gpus_of_one_kind(2);
  test::set_models(s, {{"m", {10 * kMs}}, {"n", {kMs}}});
  PolicyOptions options;
  options.placement = {{0}, {1}};
  EXPECT_NEAR(of(s, "fifo", options).rate_per_s, 200, 0.05 * 200);
  EXPECT_GE(of(s, "fifo", options).rate_per_s, 200 * (1 - 1e-9));
}

TEST(Capacity, KnowsBatchesLinksAndStages) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {kMs}, 8, 0}});  // a batch takes as long as one request
  PolicyOptions options;
  options.batch = 4;
  EXPECT_NEAR(of(s, "fifo", options).rate_per_s, 1000, 1e-9);
  EXPECT_NEAR(of(s, "dynamic_batching", options).rate_per_s, 4000, 1e-9);
  s.models[0].input_bytes = 30'000'000;  // 3 ms at 10 GB/s, which the only slot waits for
  EXPECT_NEAR(of(s).rate_per_s, 250, 1e-9);
  s.gpus[0].slots = 2;
  EXPECT_NEAR(of(s).rate_per_s, 1000.0 / 3, 0.02 * 333);
  Scenario piped = test::gpus_of_one_kind(1);
  piped.gpus[0].execution = Execution::pipeline;
  piped.gpus[0].stages = 2;
  test::set_models(piped, {{"m", {kMs, 2 * kMs}}});
  EXPECT_NEAR(of(piped).rate_per_s, 500, 0.05 * 500);
}

/// On a shared GPU what competes for nothing overlaps.
TEST(Capacity, OfASharedGpuIsThatOfItsResources) {
  Scenario s = test::gpus_of_one_kind(1);
  s.gpus[0].execution = Execution::shared;
  s.gpus[0].slots = 2;
  test::set_models(s, {{"m", {kMs}}, {"n", {kMs}}});
  s.models[0].demand = {1, 0, 0};
  s.models[1].demand = {0, 1, 0};
  EXPECT_NEAR(of(s).rate_per_s, 2000, 0.02 * 2000);
  s.gpus[0].slots = 1;
  EXPECT_NEAR(of(s).rate_per_s, 1000, 0.02 * 1000);
}

Scenario random_scenario(Random& random) {
  Scenario s = test::gpus_of_one_kind(static_cast<std::uint32_t>(1 + random.below(4)));
  s.kinds = {"a", "b"};
  const auto times = [&](std::size_t layers) {
    std::vector<std::int64_t> out(layers);
    for (std::int64_t& t : out) t = static_cast<std::int64_t>(1 + random.below(20)) * kMs / 10;
    return out;
  };
  std::vector<test::ModelTimes> models;
  for (std::uint64_t m = 0; m < 1 + random.below(3); ++m)
    models.push_back({"m" + std::to_string(m), times(1 + random.below(4)),
                      static_cast<std::uint32_t>(1 + random.below(4)), random.uniform()});
  test::set_models(s, models);
  for (std::uint32_t m = 0; m < models.size(); ++m)
    s.set_times(1, m, test::sums_of(times(models[m].layer_ps.size()), models[m].max_batch, random.uniform()));
  for (Gpu& gpu : s.gpus) {
    gpu.kind = static_cast<std::uint32_t>(random.below(2));
    gpu.slots = static_cast<std::uint32_t>(1 + random.below(3));
    gpu.execution = static_cast<Execution>(random.below(3));
    gpu.stages = gpu.execution == Execution::pipeline ? static_cast<std::uint32_t>(1 + random.below(3)) : 1;
  }
  for (Model& m : s.models) {
    m.input_bytes = static_cast<std::int64_t>(random.below(3)) * 5'000'000;
    m.output_bytes = static_cast<std::int64_t>(random.below(3)) * 5'000'000;
    m.weight_bytes = static_cast<std::int64_t>(random.below(5'000'000));
    m.demand = {random.uniform(), random.uniform(), random.below(2) == 0 ? 0 : random.uniform()};
    m.sm_limit = random.below(3) == 0 ? 0.5 : 1;
  }
  s.residency = static_cast<Residency>(random.below(3));
  return s;
}

/// All at once, and whatever a policy does with it: no run is shorter than its work at the capacity.
TEST(Capacity, NoPolicyExceedsIt) {
  double closest = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const Scenario s = random_scenario(random);
    Load load;
    load.kind = LoadKind::trace;
    std::vector<double> mix(s.models.size(), 0);
    for (int i = 0; i < 60; ++i) {
      const auto model = static_cast<std::uint32_t>(random.below(s.models.size()));
      load.trace.push_back({0, model});
      ++mix[model];
    }
    PolicyOptions options;
    options.batch = 4;
    for (const char* policy : {"fifo", "sjf", "round_robin", "scoring", "work_stealing", "layer_preemptive",
                               "static_batching", "dynamic_batching"}) {
      const double least_s = 60 / of(s, policy, options, mix).rate_per_s;
      const double took_s = static_cast<double>(test::run(s, policy, load, {}, options).makespan_ps) * 1e-12;
      ASSERT_LE(least_s, took_s * (1 + 1e-9)) << "seed " << seed << ", " << policy;
      closest = std::max(closest, least_s / took_s);
    }
  }
  EXPECT_GT(closest, 0.95);  // a bound that is never near would say nothing
}

}  // namespace
}  // namespace distsim::serving
