// The schedule of MLPerf's LoadGen, as loadgen.cc makes it: std::mt19937 and std::exponential_distribution<double> of
// libstdc++, in whole nanoseconds, the first query at 0.

#include <chrono>
#include <random>

#include "scenarios.hpp"

namespace distsim::serving {
namespace {

/// ScheduleDistribution<TestScenario::Server> and GenerateQueries, in LoadGen's own terms.
std::vector<std::int64_t> schedule(std::uint64_t seed, double qps, std::size_t count) {
  std::mt19937 schedule_rng(seed);
  std::exponential_distribution<double> distribution(qps);
  std::chrono::nanoseconds timestamp(0);
  std::vector<std::int64_t> times;
  while (times.size() < count) {
    times.push_back(timestamp.count());
    timestamp +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(distribution(schedule_rng)));
  }
  return times;
}

TEST(LoadGen, ArrivalsOfItsServerScenario) {
  constexpr std::uint64_t kSeed = 12134888396634371638u;  // schedule_rng_seed of mlperf.conf, v3.0
  Load load;
  load.kind = LoadKind::server;
  load.rate_per_s = 137;
  load.requests = 20'000;
  load.has_schedule_seed = true;
  load.schedule_seed = kSeed & 0xFFFFFFFFu;
  const std::vector<std::int64_t> expected = schedule(kSeed, 137, 20'000);
  const auto arrivals = open_arrivals(load);
  TraceRow row;
  for (const std::int64_t at : expected) {
    ASSERT_TRUE(arrivals->next(row));
    ASSERT_EQ(row.time_ps, at * 1000);
  }
  EXPECT_FALSE(arrivals->next(row));
}

/// The standard's value of the generator (C++20, 29.6.6: the 10,000th of the default seed), and times from a generator and a
/// logarithm of another language, by the definitions of MT19937 and of libstdc++'s generate_canonical.
TEST(LoadGen, ArrivalsAreThoseOfMersenneTwisterAnywhere) {
  std::mt19937 generator;
  generator.discard(9'999);
  EXPECT_EQ(generator(), 4123659995u);
  Load load;
  load.kind = LoadKind::server;
  load.rate_per_s = 137;
  load.requests = 1'001;
  load.has_schedule_seed = true;
  load.schedule_seed = 12134888396634371638u;  // the generator takes its lower 32 bits
  const auto arrivals = open_arrivals(load);
  std::vector<std::int64_t> ns;
  for (TraceRow row; arrivals->next(row);) ns.push_back(row.time_ps / 1000);
  ASSERT_EQ(ns.size(), 1'001u);
  const std::vector<std::int64_t> first{0, 17'928'616, 19'988'345, 24'192'758, 30'180'613, 37'449'514};
  EXPECT_EQ(std::vector<std::int64_t>(ns.begin(), ns.begin() + 6), first);
  EXPECT_EQ(ns.back(), 7'375'740'472);
}

TEST(LoadGen, EndsWithItsDuration) {
  Load load;
  load.kind = LoadKind::server;
  load.rate_per_s = 100;
  load.duration_ps = 10 * 1'000 * test::kMs;
  load.has_schedule_seed = true;
  load.schedule_seed = 7;
  const auto arrivals = open_arrivals(load);
  std::size_t count = 0;
  for (TraceRow row; arrivals->next(row); ++count) EXPECT_LE(row.time_ps, load.duration_ps);
  EXPECT_NEAR(static_cast<double>(count), 1000, 150);
}

/// A model's share is one of the rates: states last as long as with all models together.
TEST(Bursts, SharesOfModelsKeepTheLengthOfStates) {
  Load shared, alone;
  shared.kind = alone.kind = LoadKind::bursts;
  shared.requests = alone.requests = 1000;
  shared.bursts = {{400, 0.01}, {0, 0.05}};
  alone.bursts = {{100, 0.01}, {0, 0.05}};
  shared.model_shares = {0.25, 0.75};
  const auto all = open_arrivals(shared), one = open_arrivals(alone);
  TraceRow row, expected;
  for (int count = 0; all->next(row);) {
    if (row.model != 0) continue;
    ASSERT_TRUE(one->next(expected));
    ASSERT_EQ(row.time_ps, expected.time_ps) << count++;
  }
}

/// Ten thousand streams: the requests of each, in the order of time.
TEST(Overlay, OfManyStreams) {
  Load load;
  load.rate_per_s = 0.01;
  load.requests = 20;
  load.streams = 10'000;
  const auto arrivals = open_arrivals(load);
  std::int64_t before = 0, count = 0;
  for (TraceRow row; arrivals->next(row); ++count) {
    ASSERT_GE(row.time_ps, before);
    before = row.time_ps;
  }
  EXPECT_EQ(count, 200'000);
}

}  // namespace
}  // namespace distsim::serving
