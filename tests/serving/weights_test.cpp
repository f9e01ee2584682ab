// Weights in the memory of GPUs: what is used is never given up, and what has no room waits.

#include "sim/serving/emulator/weights.hpp"
#include "random_cases.hpp"
#include "sanitizers.hpp"
#include "scenarios.hpp"

namespace distsim::serving {
namespace {

/// One GPU of 16 GB with two slots, models of 10 GB, which take a second to load and 100 ms to execute.
Scenario tight(Residency residency) {
  Scenario s = test::gpus_of_one_kind(1);
  test::set_models(s, {{"a", {100 * test::kMs}}, {"b", {100 * test::kMs}}, {"c", {100 * test::kMs}}});
  for (Model& m : s.models) m.weight_bytes = 10'000'000'000;
  s.models[2].weight_bytes = 5'000'000'000;
  s.gpus[0].memory_bytes = 16'000'000'000;
  s.gpus[0].slots = 2;
  s.residency = residency;
  return s;
}

std::int64_t makespan(const Scenario& s, const std::vector<TraceRow>& rows) {
  Load load;
  load.kind = LoadKind::trace;
  load.trace = rows;
  return test::run(s, "fifo", load).makespan_ps;
}

TEST(Weights, OfWorkUnderWayAreNotGivenUp) {
  const Scenario s = tight(Residency::cached);
  Weights weights(s);
  EXPECT_EQ(weights.use(0, 0), Weights::Use::load);
  EXPECT_EQ(weights.use(0, 0), Weights::Use::there);
  EXPECT_EQ(weights.use(0, 2), Weights::Use::load);
  EXPECT_EQ(weights.use(0, 1), Weights::Use::wait);
  weights.release(0, 0);
  weights.release(0, 2);
  EXPECT_EQ(weights.use(0, 1), Weights::Use::wait);  // the first is used by another one still
  EXPECT_TRUE(weights.holds(0, 0) && weights.holds(0, 2));
  EXPECT_EQ(weights.evictions(), 0u);
  weights.release(0, 0);
  EXPECT_EQ(weights.use(0, 1), Weights::Use::load);
  EXPECT_FALSE(weights.holds(0, 0));
  EXPECT_TRUE(weights.holds(0, 2));
  EXPECT_EQ(weights.evictions(), 1u);
}

/// With room for one of two models, the second is loaded when the first is done; with room for both, beside it.
TEST(Weights, WithoutRoomWait) {
  for (const Residency residency : {Residency::cached, Residency::streamed}) {
    Scenario s = tight(residency);
    EXPECT_EQ(makespan(s, {{0, 0}, {0, 1}}), 2200 * test::kMs);
    s.gpus[0].memory_bytes = 20'000'000'000;
    EXPECT_EQ(makespan(s, {{0, 0}, {0, 1}}), 2100 * test::kMs);
  }
}

/// What has no weights is the same under each residency: nothing is loaded, and no policy expects it to be.
TEST(Weights, OfNoBytesAreNeverLoaded) {
  for (const char* policy : {"fifo", "scoring", "cache_aware"}) {
    Scenario s = test::gpus_of_one_kind(2);
    test::set_models(s, {{"a", {2 * test::kMs}}});
    s.links[0].latency_ps = 10 * test::kMs;
    Load load;
    load.rate_per_s = 300;
    load.requests = 1000;
    const RunResult expected = test::run(s, policy, load);
    for (const Residency residency : {Residency::cached, Residency::streamed}) {
      s.residency = residency;
      const RunResult r = test::run(s, policy, load);
      EXPECT_EQ(r.weight_loads, 0u) << policy;
      EXPECT_EQ(r.all.latency_ms.mean(), expected.all.latency_ms.mean()) << policy;
    }
  }
}

/// What is assigned later does not pass what waits for room, though its weights are there: it would keep them there for ever.
TEST(Weights, ThatWaitAreNotOvertaken) {
  Scenario s = tight(Residency::cached);
  s.gpus[0].slots = 3;
  // a is loaded and executed, b waits for it and then is, the second a waits behind b and is loaded again.
  EXPECT_EQ(makespan(s, {{0, 0}, {0, 1}, {0, 0}}), 3300 * test::kMs);
}

/// Pieces of work as they are executed, to see what is in memory at a time.
class Pieces : public Observer {
 public:
  void executed(const Executed& e) override { all.push_back(e); }
  std::vector<Executed> all;
};

/// Under every policy, what executes at a moment on a GPU has its weights in the memory there, together.
TEST(Weights, OfAllThatExecutesFit) {
  const std::uint64_t cases = distsim::test::samples(1'000);
  std::size_t together = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    test::RandomCase c = test::random_case(seed);
    c.scenario.residency = seed % 2 == 0 ? Residency::cached : Residency::streamed;
    const PolicyEntry& policy = *policies()[seed % policies().size()];
    Pieces pieces;
    ASSERT_TRUE(emulate(c.scenario, policy, c.options, c.load, {}, &pieces).ok());
    for (const Executed& now : pieces.all) {
      std::vector<char> counted(c.scenario.models.size(), 0);
      std::int64_t bytes = 0;
      for (const Executed& e : pieces.all) {
        if (e.gpu != now.gpu || e.start_ps > now.start_ps || e.end_ps <= now.start_ps) continue;
        if (c.scenario.residency == Residency::cached && counted[e.model]++ != 0) continue;
        bytes += c.scenario.models[e.model].weight_bytes;
        together += e.model != now.model ? 1 : 0;
      }
      ASSERT_LE(bytes, c.scenario.gpus[now.gpu].memory_bytes) << "seed " << seed << " " << policy.name;
    }
  }
  EXPECT_GT(together, cases / 10) << "the test would notice nothing";
}

}  // namespace
}  // namespace distsim::serving
