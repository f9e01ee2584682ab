// When a run is said to be unstable, or overloaded for a while, and what is left out as its warm-up.

#include <cmath>

#include "scenarios.hpp"
#include "sim/serving/report/comparison.hpp"
#include "sim/serving/results/batch_means.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

/// One GPU of 100 requests a second.
Point run_of(const std::string& load, const std::vector<std::string>& sets = {},
             const std::string& model = "{name: m, layer_times: [10 ms], variation: exponential}",
             const std::string& gpus = "{name: a}") {
  const auto e = parse_experiment(
      "gpus: [" + gpus + "]\nmodels: [" + model + "]\nload: " + load + "\npolicies: [fifo]\n", "x.yaml", sets);
  EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
  return compare_policies(*e, 1, [] {}).points[0];
}
RunResult result_of(const std::string& load, const std::vector<std::string>& sets = {}) {
  Point p = run_of(load, sets);
  EXPECT_EQ(p.error, "");
  return std::move(p.result);
}

/// Below capacity no seed of any load is unstable, however far its bursts go.
TEST(Overload, BurstsBelowCapacityAreStable) {
  for (int seed = 1; seed <= 40; ++seed) {
    const std::string end = ", seed: " + std::to_string(seed) + "}";
    for (const char* load :
         {"{kind: gamma, cv: 30, rate_per_s: 50, requests: 5000",
          "{kind: gamma, cv: 30, rate_per_s: 90, requests: 20000",
          "{kind: bursts, bursts: [{rate_per_s: 500, duration: 1 s}, {rate_per_s: 10, duration: 9 s}], requests: 5000",
          "{kind: poisson, rate_per_s: 98, requests: 3000", "{kind: poisson, rate_per_s: 50, requests: 100"}) {
      EXPECT_FALSE(result_of(load + end).unstable) << load << end;
    }
  }
}

/// Above capacity every seed is, however short the run and whatever the gaps; the rate at which it saturates is the capacity.
TEST(Overload, AboveCapacityIsUnstable) {
  for (int seed = 1; seed <= 20; ++seed) {
    const std::string end = ", seed: " + std::to_string(seed) + "}";
    for (
        const char* load :
        {"{kind: gamma, cv: 30, rate_per_s: 150, requests: 20000", "{kind: poisson, rate_per_s: 103, requests: 2000",
         "{kind: poisson, rate_per_s: 1000, requests: 30", "{kind: constant, rate_per_s: 200, requests: 5000",
         "{kind: bursts, bursts: [{rate_per_s: 900, duration: 1 s}, {rate_per_s: 50, duration: 1 s}], requests: 9000"}) {
      const RunResult r = result_of(load + end);
      EXPECT_TRUE(r.unstable) << load << end;
      EXPECT_NEAR(r.saturates_per_s, 100, 8) << load << end;
    }
  }
}

/// What the GPUs could do and a policy does not: round robin sends half of all to the slow one.
TEST(Overload, MayBeThePolicys) {
  const std::string text =
      "gpus: [{name: slow}, {name: fast, speed: 9}]\nmodels: [{name: m, layer_times: [10 ms]}]\n"
      "load: {rate_per_s: 400, requests: 20000}\npolicies: [round_robin, fifo]\n";
  const auto e = parse_experiment(text, "x.yaml", {});
  ASSERT_TRUE(e.ok());
  const Comparison c = compare_policies(*e, 1, [] {});
  EXPECT_TRUE(c.points[0].result.unstable);
  EXPECT_NEAR(c.points[0].result.saturates_per_s, 200, 4);
  EXPECT_FALSE(c.points[1].result.unstable);
}

/// A burst within a run is named with what it left, and is part of the figures.
TEST(Overload, OfAWhileIsNamedAndNotCutOff) {
  for (const double begin : {0.0, 30.0, 60.0}) {
    Load load;
    load.kind = LoadKind::trace;
    for (int i = 0; i < 4000; ++i) load.trace.push_back({i * 20 * test::kMs, 0});
    for (int i = 0; i < 500; ++i)
      load.trace.push_back({static_cast<std::int64_t>((begin * 1000 + i) * static_cast<double>(test::kMs)), 0});
    std::ranges::stable_sort(load.trace, {}, &TraceRow::time_ps);
    auto e = parse_experiment(
        "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [10 ms]}]\nload: {rate_per_s: 1, requests: 1}\npolicies: [fifo]\n",
        "x.yaml", {});
    ASSERT_TRUE(e.ok());
    e->load = load;
    e->rates_per_s = {0};
    const Point p = compare_policies(*e, 1, [] {}).points[0];
    EXPECT_FALSE(p.result.unstable);
    EXPECT_NEAR(p.result.overload.begin_s, begin, 0.1);
    EXPECT_NEAR(p.result.overload.most_s, 500 * 0.01 - 0.5 * (1 - 0.5),
                0.1);  // what came in 0.5 s, less what was served
    EXPECT_EQ(p.result.warm_up, 0u);
    EXPECT_GT(p.result.all.latency_ps.quantile(0.99), 4000 * test::kMs);
  }
}

/// A queue that grows from the start is no warm-up; one of an idle start is.
TEST(Overload, WarmUpLeavesOutWhatIsLowAtTheStart) {
  BatchMeans falls, rises;
  for (int i = 0; i < 8000; ++i) {
    falls.add(i < 1600 ? 100 - 0.05 * i : 20 + i % 3);
    rises.add(i < 1600 ? 0.01 * i : 20 + i % 3);
  }
  EXPECT_EQ(falls.warm_up(), 0u);
  EXPECT_NEAR(static_cast<double>(falls.warm_up(true)), 1600, 200);
  EXPECT_NEAR(static_cast<double>(rises.warm_up()), 1600, 200);
}

/// Where what would be late is dropped, what waits is bounded.
TEST(Overload, DroppingKeepsARunStable) {
  const std::string model = "{name: m, layer_times: [10 ms], deadline: 50 ms}";
  EXPECT_TRUE(run_of("{rate_per_s: 200, requests: 5000}", {}, model).result.unstable);
  EXPECT_FALSE(run_of("{rate_per_s: 200, requests: 5000}", {"run.drop_late=true"}, model).result.unstable);
}

/// What cannot be dropped piles up where it alone is more than can be served, and nowhere else.
TEST(Overload, DroppingHelpsThoseWithoutADeadlineOnlyByTheRest) {
  const auto with = [](const std::string& rest, double kept, double dropped, const std::string& load) {
    return run_of(load, {"run.drop_late=true"},
                  "{name: kept, layer_times: [10 ms], weight: " + std::to_string(kept) + "}, " + rest +
                      ", deadline: 50 ms, weight: " + std::to_string(dropped) + "}")
        .result;
  };
  const std::string rest = "{name: rest, layer_times: [10 ms]", load = "{rate_per_s: 200, requests: 5000}";
  EXPECT_TRUE(run_of(load, {"run.drop_late=true"}).result.unstable);
  const RunResult most = with(rest, 0.7, 0.3, load);
  EXPECT_TRUE(most.unstable);
  EXPECT_NEAR(most.saturates_per_s, 100, 4);
  EXPECT_FALSE(with(rest, 0.3, 0.7, load).unstable);
  // Half of the requests, but little of the work.
  EXPECT_FALSE(with("{name: rest, layer_times: [30 ms]", 0.5, 0.5, "{rate_per_s: 150, requests: 5000}").unstable);
}

/// The deadline may be that of a class; and a request that is taken apart at two places at once is not dropped.
TEST(Overload, IsOfRequestsThatAreKept) {
  const std::string load = "{rate_per_s: 200, requests: 5000}", drops = "run.drop_late=true";
  const std::string apart = "{name: m, layer_times: [10 ms, 1 us, 1 us], after: [[], [], [0, 1]], deadline: 50 ms}";
  EXPECT_FALSE(run_of(load, {drops, "classes=[{name: c, deadline: 50 ms}]"}).result.unstable);
  EXPECT_TRUE(run_of(load, {drops, "classes=[{name: c, deadline: 50 ms}, {name: d, weight: 9}]"}).result.unstable);
  EXPECT_FALSE(run_of(load, {drops}, apart).result.unstable);
  EXPECT_TRUE(run_of(load, {drops, "policies=[branch_fifo]"}, apart).result.unstable);
}

/// What takes no time leaves no work.
TEST(Overload, WorkOfNoTimeIsNone) {
  const RunResult r = run_of("{rate_per_s: 50, requests: 2000}", {}, "{name: m, layer_times: [0 ms]}").result;
  EXPECT_EQ(r.overload.requests, 0u);
  EXPECT_FALSE(r.unstable);
}

/// Too many at a time are an overload where they are one.
TEST(Overload, TooManyInTheSystemAreSaidAsWhatTheyAre) {
  const std::string below =
      run_of("{kind: gamma, cv: 30, rate_per_s: 50, requests: 20000}", {"run.max_in_system=100"}).error;
  EXPECT_NE(below.find("expected at most 100"), std::string::npos) << below;
  EXPECT_EQ(below.find("above capacity"), std::string::npos) << below;
  const std::string above = run_of("{rate_per_s: 500, requests: 20000}", {"run.max_in_system=100"}).error;
  EXPECT_NE(above.find("load above capacity, 500 requests/s arrive and at most 100 can be served"), std::string::npos)
      << above;
  const auto closed = parse_experiment(
      "gpus: [{name: a}]\nmodels: [{name: m, layer_times: [1 ms]}]\n"
      "load: {kind: closed, clients: 200, requests: 1000}\npolicies: [fifo]\nrun: {max_in_system: 100}\n",
      "x.yaml", {});
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().text(),
            "x.yaml:5:22: run.max_in_system: found 100, expected at least the 200 requests of all clients");
}

/// Served and busy are of the same time: rate x time of a request = utilisation.
TEST(Overload, ServedAndBusyAreOfOneWindow) {
  for (const int warm_up : {0, 500, 4000}) {
    const RunResult r = result_of("{kind: constant, rate_per_s: 50, requests: 5000}",
                                  {"models.0.variation=none", "run.warm_up=" + std::to_string(warm_up)});
    const double served = static_cast<double>(r.all.answered()) / r.span_s();
    EXPECT_NEAR(static_cast<double>(r.busy_ps[0]) * 1e-12 / r.span_s(), served * 0.01, 1e-9) << warm_up;
    EXPECT_NEAR(static_cast<double>(r.shares[0].executing_ps), static_cast<double>(r.busy_ps[0]), 1) << warm_up;
  }
}

}  // namespace
}  // namespace distsim::serving
