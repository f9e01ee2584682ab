// The emulator against closed forms of queueing theory, at loads from 0.1 to 0.95: the mean time in the system lies within
// the 99 % confidence interval of a run, or of eight runs together. Formulas: Kleinrock, Queueing Systems, volumes 1 and 2.

#include <algorithm>
#include <cmath>
#include <map>

#include "scenarios.hpp"

namespace distsim::serving {
namespace {

using test::kMs;

constexpr double kLoads[] = {0.1, 0.5, 0.8, 0.95};
constexpr double kServiceS = 0.01;

Scenario one_model(std::uint32_t gpus, Variation variation, double cv = 1) {
  Scenario s = test::gpus_of_one_kind(gpus);
  test::set_models(s, {{"model", {10 * kMs}}});
  s.models[0].variation = variation;
  s.models[0].cv = cv;
  return s;
}

Load poisson(double rate, std::uint64_t requests, std::uint64_t seed = 7) {
  Load load;
  load.rate_per_s = rate;
  load.requests = requests;
  load.seed = seed;
  return load;
}

/// The mean of independent runs with its 99 % interval: their spread says how far a mean may be off, whatever the
/// correlation of neighbours.
struct Estimate {
  double mean = 0, half_width = 0;
};
template <class Value>
Estimate of_runs(const Value& value) {
  constexpr int kRuns = 8;
  double sum = 0, squares = 0;
  for (int i = 0; i < kRuns; ++i) {
    const double x = value(static_cast<std::uint64_t>(100 + i));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kRuns, variance = (squares - kRuns * mean * mean) / (kRuns - 1);
  return {mean, 3.499 * std::sqrt(variance / kRuns)};  // Student's t, 7 degrees, 0.995
}

/// The variance of a mean over n requests grows with 1 / (n (1 - load)^2) and more.
std::uint64_t requests_at(double load) {
  return static_cast<std::uint64_t>(std::clamp(1'200 / ((1 - load) * (1 - load)), 20'000.0, 150'000.0));
}
RunOptions warm() {
  RunOptions options;
  options.warm_up = 5'000;
  return options;
}

void expect_mean(const Scenario& s, const std::string& policy, double load, double expected_s,
                 const std::string& what) {
  const double rate = load * static_cast<double>(s.gpus.size()) / kServiceS;
  const Estimate e = of_runs([&](std::uint64_t seed) {
    return test::run(s, policy, poisson(rate, requests_at(load), seed), warm()).all.latency_ms.mean() / 1e3;
  });
  EXPECT_NEAR(e.mean, expected_s, e.half_width) << what;
  EXPECT_LT(e.half_width, 0.3 * expected_s) << what << ": the test would notice nothing";
}

TEST(Queueing, MM1) {
  for (const double load : kLoads) {
    expect_mean(one_model(1, Variation::exponential), "fifo", load, kServiceS / (1 - load),
                "M/M/1 at " + std::to_string(load));
  }
}

TEST(Queueing, MD1) {
  for (const double load : kLoads) {
    expect_mean(one_model(1, Variation::none), "fifo", load, kServiceS * (1 + load / (2 * (1 - load))),
                "M/D/1 at " + std::to_string(load));
  }
}

/// Pollaczek and Khinchine.
TEST(Queueing, MG1) {
  for (const double load : kLoads) {
    expect_mean(one_model(1, Variation::lognormal, 0.5), "fifo", load,
                kServiceS * (1 + load * (1 + 0.25) / (2 * (1 - load))), "M/G/1 at " + std::to_string(load));
  }
}

double erlang_c(int servers, double offered) {
  double term = 1, sum = 1;
  for (int k = 1; k < servers; ++k) {
    term *= offered / k;
    sum += term;
  }
  const double last = term * offered / servers / (1 - offered / servers);
  return last / (sum + last);
}

TEST(Queueing, MMc) {
  for (const int servers : {2, 6}) {
    for (const double load : kLoads) {
      const double wait = erlang_c(servers, load * servers) * kServiceS / (servers * (1 - load));
      expect_mean(one_model(static_cast<std::uint32_t>(servers), Variation::exponential), "fifo", load,
                  kServiceS + wait, "M/M/" + std::to_string(servers) + " at " + std::to_string(load));
    }
  }
}

/// Processor sharing does not depend on the distribution of service, only on its mean.
TEST(Queueing, MG1PS) {
  for (const Variation variation : {Variation::none, Variation::exponential, Variation::lognormal}) {
    for (const double load : kLoads) {
      Scenario s = one_model(1, variation, 1.5);
      s.gpus[0].execution = Execution::shared;
      s.gpus[0].slots = 1'000'000;
      expect_mean(s, "fifo", load, kServiceS / (1 - load), "M/G/1-PS at " + std::to_string(load));
    }
  }
}

/// Two classes, the first with priority: W_k = R / ((1 - sigma_{k-1}) (1 - sigma_k)) with R = lambda E[S^2] / 2 (Cobham).
TEST(Queueing, PriorityWithoutPreemption) {
  for (const double load : kLoads) {
    Scenario s = test::gpus_of_one_kind(1);
    test::set_models(s, {{"urgent", {10 * kMs}}, {"patient", {10 * kMs}}});
    s.models[0].priority = 1;
    for (Model& m : s.models) m.variation = Variation::exponential;
    const double rest = load * kServiceS;  // E[S^2] = 2 E[S]^2
    const double first = load / 2;
    std::map<std::uint64_t, RunResult> runs;
    for (const std::size_t m : {std::size_t{0}, std::size_t{1}}) {
      const double expected = kServiceS + (m == 0 ? rest / (1 - first) : rest / ((1 - first) * (1 - load)));
      const Estimate e = of_runs([&](std::uint64_t seed) {
        if (!runs.contains(seed))
          runs[seed] = test::run(s, "priority", poisson(load / kServiceS, requests_at(load), seed), warm());
        return runs[seed].models[m].latency_ms.mean() / 1e3;
      });
      EXPECT_NEAR(e.mean, expected, e.half_width) << "class " << m << " at " << load;
    }
  }
}

/// With many short layers, giving way after each is nearly preemption: T_1 = S / (1 - rho_1) for exponential service.
TEST(Queueing, PriorityWithPreemptionAtLayers) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(
      s, {{"urgent", std::vector<std::int64_t>(50, kMs / 5)}, {"patient", std::vector<std::int64_t>(50, kMs / 5)}});
  s.models[0].priority = 1;
  for (Model& m : s.models) m.variation = Variation::exponential;
  const double load = 0.8;
  const Estimate e = of_runs([&](std::uint64_t seed) {
    return test::run(s, "layer_preemptive", poisson(load / kServiceS, 15'000, seed)).models[0].latency_ms.mean() / 1e3;
  });
  const double layer = kServiceS / 50;  // the most that a layer of the other model may still take, on average
  EXPECT_GT(e.mean + e.half_width, kServiceS / (1 - load / 2));
  EXPECT_LT(e.mean - e.half_width, kServiceS / (1 - load / 2) + 4 * layer);
}

/// M/M/1: P(T > t) = exp(-(mu - lambda) t).
TEST(Queueing, QuantilesOfMM1) {
  const double load = 0.7;
  for (const double q : {0.5, 0.9, 0.99, 0.999}) {
    const Estimate e = of_runs([&](std::uint64_t seed) {
      const RunResult r =
          test::run(one_model(1, Variation::exponential), "fifo", poisson(load / kServiceS, 100'000, seed), warm());
      return static_cast<double>(r.all.latency_ps.quantile(q)) * 1e-12;
    });
    EXPECT_NEAR(e.mean, -std::log(1 - q) * kServiceS / (1 - load), e.half_width) << q;
  }
}

/// Single runs: the interval that batch means state holds the true mean about as often as it says.
TEST(Queueing, IntervalsOfBatchMeansCover) {
  const double load = 0.7;
  int held = 0;
  constexpr int kRuns = 100;
  for (int i = 0; i < kRuns; ++i) {
    RunOptions options;
    options.warm_up = 2'000;
    const RunResult r = test::run(one_model(1, Variation::exponential), "fifo",
                                  poisson(load / kServiceS, 40'000, static_cast<std::uint64_t>(i)), options);
    const double off = std::abs(r.all.latency_ms.mean() / 1e3 - kServiceS / (1 - load));
    held += off * 1e3 <= r.all.latency_ms.half_width(0.95) ? 1 : 0;
  }
  EXPECT_GE(held, 85) << "of " << kRuns;
}

/// Little's law and the sum of the parts, on any run.
TEST(Queueing, PartsAddUp) {
  const RunResult r = test::run(one_model(2, Variation::exponential), "least_loaded", poisson(150, 20'000));
  const Tally& t = r.all;
  EXPECT_NEAR(t.waited_ms + t.fetched_ms + t.executed_ms + t.returned_ms, t.latency_ms.mean() * 20'000, 1e-3);
  EXPECT_EQ(t.requests, 20'000u);
  const double busy_s = static_cast<double>(r.busy_ps[0] + r.busy_ps[1]) * 1e-12;
  EXPECT_NEAR(busy_s, t.executed_ms / 1e3, 1e-6);
}

}  // namespace
}  // namespace distsim::serving
