// Groups of GPUs that execute models as pipelines.

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/random.hpp"
#include "scenarios.hpp"
#include "sim/serving/emulator/gpus/pipeline_stages.hpp"

namespace distsim::serving {
namespace {

Scenario pipeline(std::uint32_t stages, const std::vector<std::int64_t>& layers) {
  Scenario s = test::gpus_of_one_kind(1);
  s.gpus[0].execution = Execution::pipeline;
  s.gpus[0].stages = stages;
  test::set_models(s, {{"model", layers}});
  return s;
}

Load all_at_once(std::size_t requests) {
  Load load;
  load.kind = LoadKind::trace;
  load.trace.assign(requests, {0, 0});
  return load;
}

std::int64_t slowest(const std::vector<std::int64_t>& times, const std::vector<std::uint32_t>& cuts) {
  std::int64_t most = 0;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
    most = std::max(most, std::accumulate(times.begin() + cuts[k], times.begin() + cuts[k + 1], std::int64_t{0}));
  return most;
}

/// The least slowest stage over all cuts.
std::int64_t best_cut(const std::vector<std::int64_t>& times, std::size_t from, std::uint32_t stages) {
  if (stages == 1)
    return std::accumulate(times.begin() + static_cast<std::ptrdiff_t>(from), times.end(), std::int64_t{0});
  std::int64_t best = kNever, stage = 0;
  for (std::size_t end = from; end <= times.size(); ++end) {
    best = std::min(best, std::max(stage, best_cut(times, end, stages - 1)));
    if (end < times.size()) stage += times[end];
  }
  return best;
}

TEST(Pipeline, StagesAreBalancedAsWellAsCanBe) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::int64_t> times(1 + random.below(8));
    for (std::int64_t& t : times) t = static_cast<std::int64_t>(random.below(20));
    const auto stages = static_cast<std::uint32_t>(1 + random.below(5));
    const std::vector<std::uint32_t> cuts = balanced_stages(times, stages);
    ASSERT_EQ(cuts.size(), stages + 1);
    EXPECT_EQ(cuts.front(), 0u);
    EXPECT_EQ(cuts.back(), times.size());
    EXPECT_TRUE(std::ranges::is_sorted(cuts));
    EXPECT_EQ(slowest(times, cuts), best_cut(times, 0, stages));
  }
}

/// n requests through stages of equal time t take (stages + n - 1) t.
TEST(Pipeline, FillsAndDrains) {
  for (const std::uint32_t stages : {1u, 2u, 4u}) {
    const Scenario s = pipeline(stages, std::vector<std::int64_t>(stages, test::kMs));
    const RunResult r = test::run(s, "fifo", all_at_once(10));
    EXPECT_EQ(r.makespan_ps, (stages + 9) * test::kMs);
    EXPECT_EQ(r.busy_ps[0], 10 * test::kMs);
    EXPECT_EQ(r.shares[0].executing_ps, 10 * test::kMs);
    EXPECT_EQ(r.all.latency_ps.quantile(0), stages * test::kMs);
  }
}

/// The slowest stage sets the rate: fill + (n - 1) x slowest.
TEST(Pipeline, SlowestStageSetsTheRate) {
  const Scenario s = pipeline(3, {test::kMs, 3 * test::kMs, 2 * test::kMs});
  const RunResult r = test::run(s, "fifo", all_at_once(5));
  EXPECT_EQ(r.makespan_ps, (6 + 4 * 3) * test::kMs);
  // Before the first stage or between two, a request waits.
  EXPECT_NEAR(r.all.executed_ms, 5 * 6, 1e-9);
  EXPECT_NEAR(r.all.waited_ms, (1 + 2 + 3 + 4) * 3, 1e-9);
}

/// What a stage hands to the next counts as fetching.
TEST(Pipeline, DataBetweenStagesIsFetched) {
  Scenario s = pipeline(2, {test::kMs, test::kMs});
  s.models[0].state_bytes = 20'000'000;  // 2 ms at 10 GB/s
  const RunResult r = test::run(s, "fifo", all_at_once(1));
  EXPECT_NEAR(r.all.executed_ms, 2, 1e-9);
  EXPECT_NEAR(r.all.waited_ms, 0, 1e-9);
  EXPECT_NEAR(r.all.fetched_ms, r.all.latency_ms.mean() - 2, 1e-9);
  EXPECT_GT(r.all.fetched_ms, 0);
}

/// A pipeline of one stage is a GPU that executes one piece after the other.
TEST(Pipeline, OfOneStageIsSerial) {
  Scenario one = pipeline(1, {test::kMs, 2 * test::kMs}), serial = one;
  serial.gpus[0].execution = Execution::serial;
  Load load;
  load.rate_per_s = 250;
  load.requests = 3000;
  for (const char* policy : {"fifo", "layer_preemptive", "least_loaded"}) {
    const RunResult a = test::run(one, policy, load), b = test::run(serial, policy, load);
    EXPECT_EQ(a.makespan_ps, b.makespan_ps) << policy;
    EXPECT_EQ(a.all.latency_ms.mean(), b.all.latency_ms.mean()) << policy;
    EXPECT_EQ(a.busy_ps, b.busy_ps) << policy;
  }
}

/// What a stage hands on takes the link between two GPUs.
TEST(Pipeline, SendsBetweenStages) {
  Scenario s = pipeline(2, {test::kMs, test::kMs});
  s.models[0].state_bytes = 10'000'000;  // 1 ms at 10 GB/s
  EXPECT_EQ(test::run(s, "fifo", all_at_once(1)).makespan_ps, 3 * test::kMs);
  EXPECT_EQ(test::run(s, "fifo", all_at_once(3)).makespan_ps, 5 * test::kMs);
}

}  // namespace
}  // namespace distsim::serving
