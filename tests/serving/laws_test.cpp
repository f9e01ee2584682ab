// Laws of serving: what is better makes nothing worse. All runs of a law meet the same requests.

#include <algorithm>

#include "base/random.hpp"
#include "random_cases.hpp"
#include "sanitizers.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

/// Models with inputs, outputs, weights that are loaded anew, and times of their own.
Scenario random_gpu(Random& random, std::int64_t times_percent, double link_factor) {
  Scenario s = test::gpus_of_one_kind(1);
  for (Link& link : s.links) link.bytes_per_s *= link_factor;
  const auto count = 1 + random.below(3);
  std::vector<test::ModelTimes> models;
  for (std::uint64_t m = 0; m < count; ++m) {
    std::vector<std::int64_t> layers(1 + random.below(4));
    for (std::int64_t& t : layers)
      t = static_cast<std::int64_t>(1 + random.below(40)) * test::kMs / 1000 * times_percent;
    models.push_back({"m" + std::to_string(m), layers});
  }
  test::set_models(s, models);
  for (Model& m : s.models) {
    m.input_bytes = static_cast<std::int64_t>(random.below(10'000'000));
    m.output_bytes = static_cast<std::int64_t>(random.below(10'000'000));
    m.weight_bytes = static_cast<std::int64_t>(random.below(10'000'000));
    m.variation = random.below(2) == 0 ? Variation::exponential : Variation::none;
  }
  s.gpus[0].memory_bytes = 12'000'000;
  s.residency = static_cast<Residency>(random.below(3));
  return s;
}

Load some_load(double rate) {
  Load load;
  load.rate_per_s = rate;
  load.requests = 400;
  return load;
}

/// First come, first served on one GPU: every request is answered no later where the GPU or its links are faster.
TEST(Laws, FasterGpusAndLinksNeverRaiseTheMeanUnderFifo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    double before = 1e300;
    for (const std::int64_t percent : {200, 120, 100, 50, 10}) {
      Random random(seed);
      const double mean = test::run(random_gpu(random, percent, 1), "fifo", some_load(100)).all.latency_ms.mean();
      EXPECT_LE(mean, before * (1 + 1e-12)) << "seed " << seed << ", times of " << percent << " %";
      before = mean;
    }
    before = 1e300;
    for (const double factor : {0.25, 0.5, 1.0, 4.0}) {
      Random random(seed);
      const double mean = test::run(random_gpu(random, 100, factor), "fifo", some_load(100)).all.latency_ms.mean();
      EXPECT_LE(mean, before * (1 + 1e-12)) << "seed " << seed << ", links x" << factor;
      before = mean;
    }
  }
}

/// The same requests in a shorter time: no answer takes less.
TEST(Laws, MoreLoadNeverLowersThe99thPercentile) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const std::uint32_t gpus : {1u, 3u}) {
      std::int64_t before = 0;
      for (const double rate : {50.0, 100.0, 200.0, 400.0, 1000.0}) {
        Random random(seed);
        Scenario s = test::gpus_of_one_kind(gpus);
        test::set_models(s, {{"m", {static_cast<std::int64_t>(1 + random.below(9)) * test::kMs}}});
        s.models[0].variation = Variation::exponential;
        Load load = some_load(rate);
        load.seed = seed + 1;
        const std::int64_t p99 = test::run(s, "fifo", load).all.latency_ps.quantile(0.99);
        EXPECT_GE(p99, before) << "seed " << seed << ", " << rate << "/s";
        before = p99;
      }
    }
  }
}

/// One more GPU of the same kind never raises the mean of requests of equal times, whatever the policy among those that
/// leave no GPU idle.
TEST(Laws, MoreGpusNeverRaiseTheMeanOfEqualRequests) {
  for (const char* policy : {"fifo", "sjf", "edf", "shortest_queue", "work_stealing"}) {
    double before = 1e300;
    for (const std::uint32_t gpus : {1u, 2u, 3u, 4u, 8u}) {
      Scenario s = test::gpus_of_one_kind(gpus);
      test::set_models(s, {{"m", {7 * test::kMs}}});
      Load load = some_load(300);
      load.requests = 3000;
      const double mean = test::run(s, policy, load).all.latency_ms.mean();
      EXPECT_LE(mean, before * (1 + 1e-12)) << policy << ", " << gpus << " GPUs";
      before = mean;
    }
  }
}

/// The order in which requests are taken changes who waits, not how long one GPU is busy.
TEST(Laws, OrderDoesNotChangeTheWork) {
  const Load load = some_load(250);
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {2 * test::kMs, test::kMs}}, {"n", {test::kMs}}});
  const RunResult fifo = test::run(s, "fifo", load);
  for (const char* policy : {"sjf", "edf", "priority", "layer_preemptive", "least_loaded", "scoring"}) {
    const RunResult r = test::run(s, policy, load);
    EXPECT_EQ(r.busy_ps, fifo.busy_ps) << policy;
    EXPECT_EQ(r.makespan_ps, fifo.makespan_ps) << policy;
  }
}

/// Whatever executes beside what, the shares of models are parts of the time in which GPUs execute.
TEST(Laws, SharesOfModelsAddUpToTheWhole) {
  for (const Execution execution : {Execution::serial, Execution::shared, Execution::pipeline}) {
    for (const std::uint64_t warm_up : {0u, 100u}) {
      Scenario s = test::gpus_of_one_kind(2);
      test::set_models(s, {{"m", {10 * test::kMs, 2 * test::kMs}}, {"n", {7 * test::kMs}}});
      s.models[0].demand = {0.1, 0, 0};
      s.models[1].demand = {0.5, 0.2, 0};
      s.models[1].sm_limit = 0.25;
      for (Gpu& gpu : s.gpus) {
        gpu.execution = execution;
        gpu.slots = 8;
        gpu.stages = execution == Execution::pipeline ? 2 : 1;
      }
      RunOptions options;
      options.warm_up = warm_up;
      const RunResult r = test::run(s, "least_loaded", some_load(150), options);
      const double busy = static_cast<double>(r.busy_ps[0]) + static_cast<double>(r.busy_ps[1]);
      const double parts = r.shares[0].executing_ps + r.shares[1].executing_ps;
      EXPECT_NEAR(parts, busy, 1000) << static_cast<int>(execution);
      EXPECT_EQ(r.shares[0].batches + r.shares[1].batches, r.batches);
      EXPECT_LE(r.batches, r.all.requests + 20) << "those before the span are not counted";
      EXPECT_LE(parts, 2e12 * r.span_s() * (1 + 1e-9));
    }
  }
}

/// Of random scenarios under all policies, from any request on: no GPU, resource or link is busy for longer than the span, and
/// parts add up to the whole.
TEST(Laws, NothingIsBusyForLongerThanTheSpan) {
  const std::uint64_t cases = distsim::test::samples(2'000);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const PolicyEntry& policy = *policies()[seed % policies().size()];
    RunOptions options;
    options.warm_up = seed % 3 == 0 ? 0 : seed % c.load.trace.size();
    const auto r = emulate(c.scenario, policy, c.options, c.load, options);
    ASSERT_TRUE(r.ok()) << "seed " << seed << " " << policy.name << ": " << r.error().text();
    const std::int64_t span = r->span_ps();
    double busy = 0, stages = 1;
    for (std::size_t g = 0; g < r->busy_ps.size(); ++g) {
      EXPECT_GE(r->busy_ps[g], 0) << "seed " << seed << " " << policy.name;
      EXPECT_LE(r->busy_ps[g], span) << "seed " << seed << " " << policy.name;
      busy += static_cast<double>(r->busy_ps[g]);
      stages += 2 * c.scenario.gpus[g].stages;
      if (r->resources.empty()) continue;
      const auto most = static_cast<double>(span) * (1 + 1e-9);
      EXPECT_LE(r->resources[g].sm_ps, most) << "seed " << seed << " " << policy.name;
      EXPECT_LE(r->resources[g].memory_ps, most) << "seed " << seed << " " << policy.name;
      EXPECT_LE(r->resources[g].launch_ps, most) << "seed " << seed << " " << policy.name;
    }
    for (const std::int64_t link : r->link_busy_ps) {
      EXPECT_GE(link, 0) << "seed " << seed << " " << policy.name;
      EXPECT_LE(link, span) << "seed " << seed << " " << policy.name;
    }
    double shares = 0;
    for (const RunResult::Share& share : r->shares) shares += share.executing_ps;
    EXPECT_NEAR(shares, busy, stages) << "seed " << seed << " " << policy.name;  // of pipelines in parts of picoseconds
    const Tally& t = r->all;
    EXPECT_NEAR(t.waited_ms + t.fetched_ms + t.executed_ms + t.returned_ms,
                t.latency_ms.mean() * static_cast<double>(t.answered()), 1e-12)
        << "seed " << seed << " " << policy.name;
  }
}

/// Where one request of one model counts, the work of all others in its time is stated still.
TEST(Laws, RowsWithoutCountedRequestsHaveTheirWork) {
  const auto e = parse_experiment(
      "gpus: [{name: g}]\nmodels: [{name: m, layer_times: [3 ms]}, {name: n, layer_times: [2 ms]}]\n"
      "load: {kind: closed, clients: 20, requests: 100}\npolicies: [fifo]\nrun: {warm_up: 99}\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const Comparison c = compare_policies(*e, 1, [] {});
  const Figures all = figures_of(*e, c.points[0], 2), m = figures_of(*e, c.points[0], 0),
                n = figures_of(*e, c.points[0], 1);
  EXPECT_EQ(all.utilisation, 1);
  EXPECT_NEAR(m.utilisation + n.utilisation, 1, 1e-12);
  EXPECT_NE(m.any(), n.any());
  EXPECT_TRUE(m.works() && n.works());
}

/// Work that is under way when counting begins has run alone until then and shares the GPU afterwards: of what it used only
/// what it used since counts.
TEST(Laws, ResourcesOfWorkThatTheSpanCuts) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {10 * test::kMs}}});
  s.models[0].demand = {1, 1, 0};
  s.gpus[0].execution = Execution::shared;
  s.gpus[0].slots = 100;
  Load load;
  load.kind = LoadKind::trace;
  load.trace.assign(1, {0, 0});
  load.trace.resize(10, {9 * test::kMs, 0});
  RunOptions options;
  options.warm_up = 1;
  const RunResult r = test::run(s, "fifo", load, options);
  EXPECT_NEAR(static_cast<double>(r.span_ps()), 91.0 * test::kMs, 1000);  // speeds are in units of 2^-32
  EXPECT_EQ(r.busy_ps[0], r.span_ps());
  EXPECT_NEAR(r.resources[0].sm_ps, 91.0 * test::kMs, 1000);
  EXPECT_NEAR(r.resources[0].memory_ps, 91.0 * test::kMs, 1000);
}

/// A transfer that is asked for before counting begins and goes on afterwards counts from then on.
TEST(Laws, LinksOfTransfersThatTheSpanCuts) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"m", {test::kMs}}});
  s.models[0].input_bytes = 100'000'000;  // 10 ms
  s.gpus[0].slots = 4;
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{0, 0}, {0, 0}, {4 * test::kMs, 0}};
  RunOptions options;
  options.warm_up = 2;
  const RunResult r = test::run(s, "fifo", load, options);
  EXPECT_EQ(r.span_ps(), 27 * test::kMs);
  EXPECT_EQ(r.link_busy_ps[s.gpus[0].host_in], 26 * test::kMs);
}

/// 1,000 GPUs of which 0.9 are busy for hours: more picoseconds than 64 bits hold.
TEST(Laws, ManyGpusOverALongTime) {
  const auto e = parse_experiment(
      "gpus: [{name: g, count: 1000}]\nmodels: [{name: m, layer_times: [900 s]}, {name: n, layer_times: [900 s]}]\n"
      "load: {kind: constant, rate_per_s: 1, duration: 20000 s}\npolicies: [fifo]\nrun: {warm_up: 0}\n",
      "x.yaml", {});
  ASSERT_TRUE(e.ok()) << e.error().text();
  const Comparison c = compare_policies(*e, 1, [] {});
  const double all = figures_of(*e, c.points[0], 2).utilisation;
  EXPECT_NEAR(all, 0.9 * 20000 / 20900, 0.001);
  EXPECT_NEAR(figures_of(*e, c.points[0], 0).utilisation + figures_of(*e, c.points[0], 1).utilisation, all, 1e-9);
}

}  // namespace
}  // namespace distsim::serving
