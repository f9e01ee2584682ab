// Models that are graphs: branches on several streams of one GPU, and on several GPUs.

#include <algorithm>

#include "base/random.hpp"
#include "scenarios.hpp"
#include "sim/serving/emulator/gpus/stream_plan.hpp"
#include "sim/serving/spec/serving_spec.hpp"

namespace distsim::serving {
namespace {

using Needs = std::vector<std::vector<LayerGraph::Need>>;

/// A layer, two branches of one and two layers, and the layer that joins them.
const Needs kDiamond = {{}, {{0, 0}}, {{0, 0}}, {{2, 0}}, {{1, 0}, {3, 0}}};
const std::vector<std::int64_t> kDiamondTimes = {test::kMs, 4 * test::kMs, test::kMs, 2 * test::kMs, test::kMs};

Scenario diamond(std::uint32_t gpus, std::uint32_t streams, const Demand& demand) {
  Scenario s = test::gpus_of_one_kind(gpus);
  test::set_models(s, {{"diamond", kDiamondTimes}});
  s.models[0].graph = LayerGraph(kDiamond);
  s.models[0].demand = demand;
  plan_streams(s, 0, 0, streams);
  return s;
}

Load one_request() {
  Load load;
  load.kind = LoadKind::trace;
  load.trace = {{0, 0}};
  return load;
}

std::int64_t latency(const Scenario& s, const char* policy) {
  return test::run(s, policy, one_request()).all.latency_ps.quantile(1);
}

TEST(LayerGraph, FindsBlocksAndStrands) {
  const LayerGraph g(kDiamond);
  ASSERT_EQ(g.blocks().size(), 1u);
  EXPECT_EQ(g.blocks()[0].begin, 1u);  // layer 0 is needed by all
  EXPECT_EQ(g.blocks()[0].end, 5u);
  ASSERT_EQ(g.strands().size(), 4u);
  EXPECT_EQ(g.strands()[2].begin, 2u);
  EXPECT_EQ(g.strands()[2].end, 4u);
  EXPECT_EQ(g.strands()[3].sources.size(), 2u);
  EXPECT_EQ(g.joint_from(2), 5u);
  EXPECT_EQ(g.joint_to(4), 1u);
}

/// Residual connections give nothing to do beside each other.
TEST(LayerGraph, ShortcutsAroundAChainAreAChain) {
  EXPECT_TRUE(LayerGraph(Needs{{}, {{0, 8}}, {{1, 8}, {0, 8}}, {{2, 8}}, {{3, 8}, {2, 8}}}).is_chain());
  EXPECT_FALSE(LayerGraph(Needs{{}, {{0, 8}}, {{0, 8}}, {{2, 8}, {1, 8}}}).is_chain());
  EXPECT_FALSE(LayerGraph(Needs{{}, {}, {{0, 8}, {1, 8}}}).is_chain());
}

TEST(Branches, OfOneStreamAreOneAfterTheOther) {
  EXPECT_EQ(latency(diamond(1, 1, {0.5, 0, 0}), "fifo"), 9 * test::kMs);
}

/// 1, then 4 beside 1 + 2, then 1.
TEST(Branches, OverlapWithoutLossWhereTheyDoNotCompete) {
  for (const Execution execution : {Execution::serial, Execution::shared}) {
    Scenario s = diamond(1, 2, {0.5, 0, 0});
    s.gpus[0].execution = execution;
    EXPECT_EQ(latency(s, "fifo"), 6 * test::kMs);
  }
}

/// What keeps all SMs busy gains nothing.
TEST(Branches, GainNothingWhereTheyCompete) { EXPECT_EQ(latency(diamond(1, 4, {1, 0, 0}), "fifo"), 9 * test::kMs); }

/// At 0.75 of the SMs each, two run at 2/3 of their speed: 3 ms of the short branch take 4.5, then 1 of the long one is left.
TEST(Branches, ShareWhatTheyCompeteFor) {
  EXPECT_NEAR(static_cast<double>(latency(diamond(1, 2, {0.75, 0, 0}), "fifo")), 7.5 * test::kMs, 10);
}

TEST(Branches, AreExecutedOnSeveralGpus) {
  EXPECT_EQ(latency(diamond(2, 1, {1, 0, 0}), "branch_fifo"), 6 * test::kMs);
  EXPECT_EQ(latency(diamond(1, 1, {1, 0, 0}), "branch_fifo"), 9 * test::kMs);
}

Scenario diamond_with(std::int64_t bytes) {
  Scenario s = diamond(2, 1, {1, 0, 0});
  Needs needs = kDiamond;
  for (auto& of_layer : needs) {
    for (LayerGraph::Need& need : of_layer) need.bytes = bytes;
  }
  s.models[0].graph = LayerGraph(needs);
  return s;
}

/// A join waits for the data of both, over links of 10 GB/s: 20 MB take 2 ms each way.
TEST(Branches, FetchWhatOtherGpusHave) {
  const RunResult r = test::run(diamond_with(20'000'000), "branch_fifo", one_request());
  EXPECT_EQ(r.moves, 2u);
  EXPECT_EQ(r.all.latency_ps.quantile(1), (1 + 2 + 3 + 2 + 1) * test::kMs);
  EXPECT_NEAR(r.all.waited_ms + r.all.fetched_ms + r.all.executed_ms + r.all.returned_ms, 9, 1e-9);
}

/// Where moving takes longer than waiting, a policy that counts it stays.
TEST(Branches, StayWhereMovingTakesLonger) {
  EXPECT_EQ(latency(diamond_with(60'000'000), "branch_fifo"), (1 + 6 + 3 + 6 + 1) * test::kMs);
  EXPECT_EQ(latency(diamond_with(60'000'000), "branch_scoring"), 9 * test::kMs);
}

/// A chain is the same as without a graph, on any number of streams and under any policy.
TEST(Branches, AChainIsAsBefore) {
  Load load;
  load.rate_per_s = 250;
  load.requests = 3000;
  for (const char* policy : {"fifo", "scoring", "layer_preemptive", "lazy_batching", "branch_fifo", "branch_scoring"}) {
    for (const Execution execution : {Execution::serial, Execution::shared}) {
      Scenario plain = test::gpus_of_one_kind(2);
      test::set_models(plain, {{"m", {test::kMs, 2 * test::kMs, test::kMs}, 4, 0.5}});
      for (Gpu& gpu : plain.gpus) gpu.execution = execution;
      Scenario chain = plain;
      chain.models[0].graph = LayerGraph(Needs{{}, {{0, 8}}, {{1, 8}, {0, 8}}});
      plan_streams(chain, 0, 0, 4);
      const RunResult a = test::run(plain, policy, load), b = test::run(chain, policy, load);
      EXPECT_EQ(a.makespan_ps, b.makespan_ps) << policy;
      EXPECT_EQ(a.all.latency_ms.mean(), b.all.latency_ms.mean()) << policy;
      EXPECT_EQ(a.batches, b.batches) << policy;
    }
  }
}

Scenario random_graph(Random& random, std::uint32_t streams, bool competes) {
  Scenario s = test::gpus_of_one_kind(1);
  Needs needs(3 + random.below(12));
  std::vector<std::int64_t> times;
  for (std::uint32_t l = 0; l < needs.size(); ++l) {
    times.push_back(static_cast<std::int64_t>(1 + random.below(50)) * test::kMs / 10);
    for (std::uint64_t n = l == 0 ? 0 : 1 + random.below(2); n > 0; --n) {
      const auto layer = static_cast<std::uint32_t>(l - 1 - random.below(std::min(l, 4u)));
      if (needs[l].empty() || needs[l][0].layer != layer) needs[l].push_back({layer, 0});
    }
  }
  test::set_models(s, {{"m", times}});
  s.models[0].graph = LayerGraph(needs);
  std::vector<Demand> demands;
  for (std::size_t l = 0; l < times.size(); ++l)
    demands.push_back(competes ? Demand{static_cast<double>(1 + random.below(4)) / 4, 0, 0} : Demand{0, 0, 0});
  s.set_uses(0, 0, demands, {});
  plan_streams(s, 0, 0, streams);
  return s;
}

/// A request alone is never slower with more streams, whether its branches compete or not; under load not where they do
/// not compete.
TEST(Branches, MoreStreamsAreNeverSlower) {
  Load load;
  load.rate_per_s = 40;
  load.requests = 200;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const bool competes : {false, true}) {
      std::int64_t alone = kNever;
      double mean = 1e300;
      for (const std::uint32_t streams : {1u, 2u, 3u, 4u, 8u}) {
        Random random(seed);
        const Scenario s = random_graph(random, streams, competes);
        const std::int64_t now = latency(s, "fifo");
        EXPECT_LE(now, alone) << "seed " << seed << ", " << streams << " streams";
        alone = now;
        const double mean_now = test::run(s, "fifo", load).all.latency_ms.mean();
        EXPECT_LE(mean_now, mean * (1 + 1e-12)) << "seed " << seed << ", " << streams << " streams";
        mean = mean_now;
      }
    }
  }
}

/// Parts of the latency add up to it, with branches anywhere.
TEST(Branches, PartsOfTheLatencyAddUp) {
  Load load;
  load.rate_per_s = 60;
  load.requests = 500;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Scenario s = random_graph(random, 2, true);
    const Scenario more = test::gpus_of_one_kind(3);
    s.gpus = more.gpus;
    s.links = more.links;
    s.models[0].input_bytes = s.models[0].output_bytes = 1'000'000;
    for (const char* policy : {"fifo", "branch_fifo", "branch_scoring"}) {
      const RunResult r = test::run(s, policy, load);
      const double sum = r.all.waited_ms + r.all.fetched_ms + r.all.executed_ms + r.all.returned_ms;
      EXPECT_NEAR(sum, r.all.latency_ms.mean() * static_cast<double>(r.all.answered()), 1e-6 * sum) << policy;
    }
  }
}

/// A limit on the SMs is one of GPUs that several pieces of work share: on others branches stay beside each other.
TEST(Branches, OnStreamsHeedNoLimitOfSharedGpus) {
  const std::string text =
      "gpus: [{name: a, streams: 2, idle_power: 10 W, busy_power: 100 W}]\n"
      "models: [{name: m, layer_times: [1 ms, 4 ms, 3 ms, 1 ms], after: [[], 0, 0, [1, 2]], sm_demand: 0.5}]\n"
      "load: {kind: closed, requests: 10}\npolicies: [fifo]\nrun: {warm_up: 0}\n";
  const auto makespan = [&](const std::vector<std::string>& sets) {
    const auto e = parse_experiment(text, "x.yaml", sets);
    EXPECT_TRUE(e.ok()) << (e.ok() ? "" : e.error().text());
    const auto r = emulate(e->scenario, *e->policies[0], e->policy_options, e->load, e->run);
    EXPECT_TRUE(r.ok());
    EXPECT_LE(r->joules[0], 100 * static_cast<double>(r->makespan_ps) * 1e-12 * (1 + 1e-12));
    return r->makespan_ps;
  };
  EXPECT_EQ(makespan({}), 60 * test::kMs);
  EXPECT_EQ(makespan({"models.0.sm_limit=0.25"}), 60 * test::kMs);
  EXPECT_EQ(makespan({"models.0.sm_limit=0.25", "gpus.0.execution=shared"}), 180 * test::kMs);
}

}  // namespace
}  // namespace distsim::serving
